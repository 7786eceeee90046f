package nats

import (
	"context"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func openSink(context.Context, connectors.Config) (connectors.Sink, error) {
	return nil, sqlerr.NotSupported(0, "nats sink")
}
