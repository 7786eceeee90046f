// Package embedded runs a NATS server with JetStream inside the process: the server
// that streamsql uses when none is named.
package embedded

import (
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/streamsql/streamsql/internal/flock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Options of a server. The zero value is what a single user wants.
type Options struct {
	// Host and Port of the listener: 127.0.0.1 and a free port unless set. Reading over
	// loopback TCP costs less than over the in-process pipe.
	Host string
	Port int
	// NoSync leaves writing to the operating system instead of syncing each write: a
	// power cut may lose acknowledged messages.
	NoSync bool
	// MaxStore and MaxMemory bound file and memory streams, in bytes; 0 takes 64 GiB
	// (the disk is the limit) and 256 MiB.
	MaxStore, MaxMemory int64
}

const (
	// MaxPayload is the largest message the server takes, in bytes.
	MaxPayload = 8 << 20
	// MaxBatch is the largest atomic batch, in messages.
	MaxBatch = 1_000_000

	readyIn = 10 * time.Second
)

// Server is a running server. Its methods may be called from any goroutine.
type Server struct {
	srv  *server.Server
	lock *os.File
}

// Start starts a server whose streams live below dir, which is made if need be. It
// fails with CodeNotReady when another process runs one there.
func Start(dir string, o Options) (*Server, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, sqlerr.New(sqlerr.CodeOption, 0, "cannot make the directory of the embedded server: %v", err)
	}
	lock, err := acquire(dir)
	if err != nil {
		return nil, err
	}
	opts := o.server(dir)
	srv, err := server.NewServer(opts)
	if err != nil {
		_ = flock.Close(lock)
		return nil, sqlerr.Externalf(sqlerr.CodeNotReady, err, "cannot start the embedded server in %q", dir)
	}
	go srv.Start()
	if !srv.ReadyForConnections(readyIn) || !srv.JetStreamEnabled() {
		srv.Shutdown()
		_ = flock.Close(lock)
		return nil, sqlerr.Externalf(sqlerr.CodeNotReady, nil, "the embedded server in %q did not become ready", dir).
			WithHint("Check that the directory can be written and the port %d is free.", opts.Port)
	}
	return &Server{srv: srv, lock: lock}, nil
}

func (o Options) server(dir string) *server.Options {
	so := &server.Options{
		ServerName:         "streamsql",
		Host:               "127.0.0.1",
		Port:               server.RANDOM_PORT,
		NoLog:              true,
		NoSigs:             true,
		MaxPayload:         MaxPayload,
		JetStream:          true,
		StoreDir:           dir,
		SyncAlways:         !o.NoSync,
		JetStreamMaxStore:  64 << 30,
		JetStreamMaxMemory: 256 << 20,
		JetStreamLimits: server.JSLimitOpts{
			MaxBatchSize:    MaxBatch,
			MaxBatchTimeout: time.Minute,
		},
		DisableJetStreamBanner: true,
	}
	if o.Host != "" {
		so.Host = o.Host
	}
	if o.Port != 0 {
		so.Port = o.Port
	}
	if o.MaxStore != 0 {
		so.JetStreamMaxStore = o.MaxStore
	}
	if o.MaxMemory != 0 {
		so.JetStreamMaxMemory = o.MaxMemory
	}
	return so
}

// acquire takes the lock file of dir, which the operating system frees with the process.
func acquire(dir string) (*os.File, error) {
	name := filepath.Join(dir, "streamsql.lock")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, sqlerr.New(sqlerr.CodeOption, 0, "cannot open the lock file of the embedded server: %v", err)
	}
	ok, err := flock.TryLock(f)
	if ok {
		return f, nil
	}
	f.Close()
	if err == nil {
		return nil, sqlerr.New(sqlerr.CodeNotReady, 0, "the directory %q is in use by another streamsql", dir).
			WithHint("Stop the other process, use another data directory, or connect to its server by URL.")
	}
	return nil, sqlerr.New(sqlerr.CodeOption, 0, "cannot lock the directory %q: %v", dir, err)
}

// URL is the address for clients.
func (s *Server) URL() string { return s.srv.ClientURL() }

// Shutdown stops the server and frees the directory. It may be called twice.
func (s *Server) Shutdown() {
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
	_ = flock.Close(s.lock)
}
