package planner

import (
	"slices"

	"github.com/streamsql/streamsql/connectors"
)

// CommonOptions lists the keys of WITH (…) that the engine reads, whatever the
// connector.
func CommonOptions() []connectors.Option { return slices.Clone(commonOptions) }
