package nats

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"sync"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

const (
	connectTimeout = 3 * time.Second
	requestTimeout = 5 * time.Second
	reconnectMin   = 50 * time.Millisecond
	reconnectMax   = 2 * time.Second
)

// session is one connection to a server, which comes back by itself after an outage.
// Its methods may be called from any goroutine.
type session struct {
	nc     *natsgo.Conn
	js     jetstream.JetStream
	api    string // head of the subjects of the JetStream API, with its dot
	target string // the servers without user and password, for messages

	life context.Context // ends with the session or a fatal error
	end  context.CancelFunc

	deliveries deliveries

	mu        sync.Mutex
	fatal     *sqlerr.Error
	connected bool
	since     time.Time // of the outage
	reconnect uint64
	listeners []func()
}

// openSession connects. It does not retry: a server that is away is an External error
// with Retry, a refused login a User error.
func openSession(ctx context.Context, o options) (*session, error) {
	opts, target, err := o.connect()
	if err != nil {
		return nil, err
	}
	s := &session{target: target, connected: true}
	s.life, s.end = context.WithCancel(context.Background())
	opts = append(opts, natsgo.SetCustomDialer(&s.deliveries),
		natsgo.DisconnectErrHandler(func(*natsgo.Conn, error) { s.down() }),
		natsgo.ReconnectHandler(func(*natsgo.Conn) { s.up() }),
		natsgo.ClosedHandler(func(nc *natsgo.Conn) { s.closed(nc.LastError()) }),
		natsgo.ErrorHandler(func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) { s.async(err) }),
		natsgo.CustomReconnectDelay(func(n int) time.Duration {
			return min(reconnectMin<<min(n, 10), reconnectMax)
		}),
		natsgo.MaxReconnects(-1), natsgo.Timeout(connectTimeout), natsgo.PingInterval(10*time.Second), natsgo.MaxPingsOutstanding(2),
		natsgo.ReconnectBufSize(-1), natsgo.Name("streamsql"))
	type result struct {
		nc  *natsgo.Conn
		err error
	}
	done := make(chan result, 1)
	go func() {
		nc, err := natsgo.Connect(o.url, opts...)
		done <- result{nc, err}
	}()
	var r result
	select {
	case r = <-done:
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				r.nc.Close()
			}
		}()
		s.end()
		return nil, ctx.Err()
	}
	if r.err != nil {
		s.end()
		return nil, s.classify(r.err, "connect to")
	}
	s.nc, s.api = r.nc, "$JS.API."
	switch {
	case o.apiPrefix != "":
		s.api = strings.TrimSuffix(o.apiPrefix, ".") + "."
		s.js, err = jetstream.NewWithAPIPrefix(s.nc, o.apiPrefix)
	case o.domain != "":
		s.api = "$JS." + o.domain + ".API."
		s.js, err = jetstream.NewWithDomain(s.nc, o.domain)
	default:
		s.js, err = jetstream.New(s.nc)
	}
	if err != nil {
		s.close()
		return nil, s.classify(err, "use JetStream of")
	}
	return s, nil
}

func (s *session) close() {
	s.end()
	s.nc.Close()
}

// listen calls f, which must not block, after every change of the connection's state.
func (s *session) listen(f func()) {
	s.mu.Lock()
	s.listeners = append(s.listeners, f)
	s.mu.Unlock()
}

func (s *session) tell() {
	s.mu.Lock()
	ls := s.listeners
	s.mu.Unlock()
	for _, f := range ls {
		f()
	}
}

func (s *session) down() {
	s.mu.Lock()
	s.connected, s.since = false, time.Now()
	s.mu.Unlock()
	s.tell()
}

func (s *session) up() {
	s.mu.Lock()
	s.connected = true
	s.reconnect++
	s.mu.Unlock()
	s.tell()
}

func (s *session) closed(last error) {
	if s.life.Err() == nil {
		s.fail(s.classify(last, "stay connected to"))
	}
}

// unneeded are the requests whose refusal does no harm.
var unneeded = []string{"STREAM.NAMES", "STREAM.MSG.DELETE", "CONSUMER.DELETE"}

// async takes what the server says outside of any answer: a refused permission would
// otherwise look like a request without an answer.
func (s *session) async(err error) {
	if !errors.Is(err, natsgo.ErrPermissionViolation) {
		return
	}
	for _, u := range unneeded {
		if strings.Contains(err.Error(), u) {
			return
		}
	}
	s.fail(s.classify(err, "use"))
}

func (s *session) fail(err *sqlerr.Error) {
	s.mu.Lock()
	if s.fatal == nil {
		s.fatal = err
	}
	s.mu.Unlock()
	s.end()
	s.tell()
}

// state gives the error that ended the session, whether it is connected, and how often
// it came back.
func (s *session) state() (fatal *sqlerr.Error, connected bool, reconnects uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fatal, s.connected, s.reconnect
}

// outage says since when the server is away, "" when it is there.
func (s *session) outage() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connected {
		return ""
	}
	return "the server " + s.target + " is away since " + s.since.UTC().Format(time.RFC3339)
}

// call runs a request with the session's limits of time and turns its error into ours.
// act is a verb for the message: "look up", "create".
func (s *session) call(ctx context.Context, act string, f func(context.Context) error) error {
	cctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	err := f(cctx)
	if err == nil {
		return nil
	}
	if fatal, _, _ := s.state(); fatal != nil {
		return fatal
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.classify(err, act)
}

// classify makes an error of the client or the server ours.
func (s *session) classify(err error, act string) *sqlerr.Error {
	if e := sqlerr.As(err); e != nil {
		return e
	}
	var api *jetstream.APIError
	var cert *tls.CertificateVerificationError
	switch {
	case err == nil:
		return sqlerr.Externalf(sqlerr.CodeConnection, nil, "cannot %s %s", act, s.target)
	case errors.Is(err, natsgo.ErrAuthorization), errors.Is(err, natsgo.ErrAuthExpired),
		errors.Is(err, natsgo.ErrAuthRevoked), errors.Is(err, natsgo.ErrAccountAuthExpired):
		e := sqlerr.New(sqlerr.CodeAuth, 0, "the server %s refused the login", s.target)
		return e.WithHint("Check \"auth.user\", \"auth.password\", \"auth.token\", \"auth.nkey\", \"auth.creds\" or the context.")
	case errors.As(err, &cert):
		return sqlerr.New(sqlerr.CodeAuth, 0, "the certificate of the server %s is not trusted: %v", s.target, cert).
			WithHint("Name the certificates that may sign it in \"tls.ca\".")
	case errors.Is(err, natsgo.ErrPermissionViolation):
		e := sqlerr.New(sqlerr.CodeAuth, 0, "the server %s refused a permission", s.target)
		return e.WithDetail("It says: %s.", strings.TrimPrefix(err.Error(), "nats: permissions violation: ")).
			WithHint("Allow the user this subject.")
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return sqlerr.New(sqlerr.CodeNotReady, 0, "the server %s has no JetStream for this account", s.target).
			WithHint("Start it with JetStream: nats-server -js.")
	case errors.As(err, &api):
		e := sqlerr.Externalf(sqlerr.CodeNotReady, api, "cannot %s %s", act, s.target)
		e.Retry = api.Code >= 500 || api.Code == 429 || api.Code == 408
		return e
	case errors.Is(err, natsgo.ErrReconnectBufExceeded):
		return sqlerr.Externalf(sqlerr.CodeConnection, nil, "cannot %s %s, which is not connected", act, s.target)
	case errors.Is(err, natsgo.ErrNoResponders):
		return sqlerr.Externalf(sqlerr.CodeNotReady, err, "JetStream of %s does not answer", s.target)
	}
	return sqlerr.Externalf(sqlerr.CodeConnection, err, "cannot %s %s", act, s.target)
}
