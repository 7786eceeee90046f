package engine

import (
	"path/filepath"
	"sync"

	"github.com/streamsql/streamsql/connectors/nats/embedded"
)

// ownServer is the engine's embedded NATS server, started when it is first needed.
type ownServer struct {
	mu     sync.Mutex
	srv    *embedded.Server
	closed bool
}

// url starts the server when it does not run. A failure is not kept: the next call
// tries again.
func (o *ownServer) url(dir string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return "", errClosed()
	}
	if o.srv == nil {
		srv, err := embedded.Start(dir, embedded.Options{})
		if err != nil {
			return "", err
		}
		o.srv = srv
	}
	return o.srv.URL(), nil
}

func (o *ownServer) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.srv != nil {
		o.srv.Shutdown()
	}
}

// NATSURL gives the server of nats tables without a url, starting the embedded one
// when there is none. It fails with CodeNotReady when another process runs one on the
// same directory.
func (e *Engine) NATSURL() (string, error) {
	if e.opts.NATSURL != "" {
		return e.opts.NATSURL, nil
	}
	dir := e.opts.NATSStoreDir
	if dir == "" {
		dir = filepath.Join(e.opts.DataDir, "nats")
	}
	return e.nats.url(dir)
}
