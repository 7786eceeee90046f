// Package pgcluster finds PostgreSQL's programs and runs a private cluster with them:
// for tests, benchmarks and the demo. As root it runs the server as another user,
// since initdb and postgres refuse root.
package pgcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Options of a cluster.
type Options struct {
	// Dir holds the data directory and socket; it is made when missing.
	Dir string
	// Port to listen on at 127.0.0.1; 0 picks a free one.
	Port int
	// Durable keeps fsync on; tests of processes that are killed, not of machines that
	// lose power, do without.
	Durable bool
	// Settings are further server settings, each "name=value".
	Settings []string
}

// Cluster is a running server.
type Cluster struct {
	opts Options
	bin  string
	port int
	cred *syscall.Credential
	cmd  *exec.Cmd
	done chan struct{}
	log  *os.File
}

// User and Database of every cluster. Local connections are trusted.
const (
	User     = "streamsql"
	Database = "postgres"
)

// FindBin returns the directory that holds initdb and postgres, newest version
// first: from PATH, else from the places where packages put them.
func FindBin() (string, error) {
	if p, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			if _, err := os.Stat(filepath.Join(filepath.Dir(real), "postgres")); err == nil {
				return filepath.Dir(real), nil
			}
		}
	}
	var found []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/libexec/postgresql*",
		"/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin", "/usr/local/pgsql/bin"} {
		dirs, _ := filepath.Glob(pattern)
		for _, d := range dirs {
			if _, err := os.Stat(filepath.Join(d, "initdb")); err == nil {
				found = append(found, d)
			}
		}
	}
	if len(found) == 0 {
		return "", errors.New("PostgreSQL's programs initdb and postgres were not found; install the PostgreSQL server package")
	}
	sort.Strings(found)
	return found[len(found)-1], nil
}

// Start makes the cluster if Dir has none and starts it.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	bin, err := FindBin()
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: opts, bin: bin, port: opts.Port}
	if err := c.credential(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(opts.Dir, 0o755); err != nil {
		return nil, err
	}
	if c.cred != nil {
		if err := os.Chown(opts.Dir, int(c.cred.Uid), int(c.cred.Gid)); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(c.data(), "PG_VERSION")); err != nil {
		out, err := c.command("initdb", "-D", c.data(), "-U", User, "-A", "trust", "-E", "UTF8",
			"--locale=C", "--no-sync", "--no-instructions").CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
		}
	}
	if c.port == 0 {
		if c.port, err = freePort(); err != nil {
			return nil, err
		}
	}
	return c, c.Start(ctx)
}

// credential chooses the user to run as: the caller, or for root "postgres" or "nobody".
func (c *Cluster) credential() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		c.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return nil
	}
	return errors.New("running as root, and neither user postgres nor nobody exists to run PostgreSQL as")
}

func (c *Cluster) data() string { return filepath.Join(c.opts.Dir, "data") }

func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.cred, Setpgid: true}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+c.opts.Dir)
	return cmd
}

// errEnded says that the server ended while it was starting.
var errEnded = errors.New("postgres ended at start")

// Start starts the server again after Stop or Kill and waits until it answers. The
// backends of a server that was killed hold its shared memory for a moment, so an early
// end is tried again.
func (c *Cluster) Start(ctx context.Context) error {
	for deadline := time.Now().Add(20 * time.Second); ; {
		err := c.start(ctx)
		if !errors.Is(err, errEnded) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (c *Cluster) start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(c.opts.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	args := []string{"-D", c.data(), "-p", strconv.Itoa(c.port), "-k", c.opts.Dir, "-c", "listen_addresses=127.0.0.1",
		"-c", "max_wal_size=4GB", "-c", "shared_buffers=256MB", "-c", "max_connections=200"}
	if !c.opts.Durable {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	for _, s := range c.opts.Settings {
		args = append(args, "-c", s)
	}
	cmd := c.command("postgres", args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		log.Close()
		return err
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	c.cmd, c.done, c.log = cmd, done, log
	deadline := time.Now().Add(60 * time.Second)
	for {
		if c.ready() {
			return nil
		}
		select {
		case <-done:
			text, _ := os.ReadFile(log.Name())
			log.Close()
			c.cmd = nil
			return fmt.Errorf("%w: %s", errEnded, tail(text))
		case <-ctx.Done():
			_ = c.Kill()
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			_ = c.Kill()
			return errors.New("postgres did not answer within 60 seconds")
		}
	}
}

// ready sends a start-up packet and looks for an authentication answer.
func (c *Cluster) ready() bool {
	conn, err := net.DialTimeout("tcp", c.Addr(), time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	body := "\x00\x03\x00\x00user\x00" + User + "\x00database\x00" + Database + "\x00\x00"
	n := len(body) + 4
	if _, err := conn.Write(append([]byte{0, 0, byte(n >> 8), byte(n)}, body...)); err != nil {
		return false
	}
	var b [1]byte
	_, err = conn.Read(b[:])
	return err == nil && b[0] == 'R'
}

// Addr is host:port.
func (c *Cluster) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)) }

// Port the server listens on.
func (c *Cluster) Port() int { return c.port }

// DSN is a libpq URL for the cluster.
func (c *Cluster) DSN() string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", User, c.Addr(), Database)
}

// Stop ends the server in "fast" mode: open transactions are rolled back.
func (c *Cluster) Stop() error { return c.signal(syscall.SIGINT) }

// StopImmediate ends the server without a shutdown checkpoint; the next start recovers.
func (c *Cluster) StopImmediate() error { return c.signal(syscall.SIGQUIT) }

// Kill ends the server and its backends with SIGKILL.
func (c *Cluster) Kill() error {
	if c.cmd == nil {
		return nil
	}
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	return c.signal(syscall.SIGKILL)
}

func (c *Cluster) signal(sig syscall.Signal) error {
	if c.cmd == nil {
		return nil
	}
	err := c.cmd.Process.Signal(sig)
	select {
	case <-c.done:
	case <-time.After(30 * time.Second):
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
		<-c.done
	}
	c.log.Close()
	c.cmd = nil
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func tail(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "; ")
}
