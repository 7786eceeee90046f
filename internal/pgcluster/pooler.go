package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Pooler is a running pgbouncer before a cluster.
type Pooler struct {
	cluster *Cluster
	dir     string
	port    int
	cmd     *exec.Cmd
}

// FindPooler returns the path of pgbouncer.
func FindPooler() (string, error) {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer", "/usr/local/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer"} {
		if p, err := exec.LookPath(name); err == nil {
			return p, nil
		}
	}
	return "", errors.New("pgbouncer was not found; scripts/pgbouncer.sh installs it")
}

// StartPooler starts pgbouncer before the cluster, in transaction mode unless settings
// ("name = value") say otherwise.
func (c *Cluster) StartPooler(ctx context.Context, settings ...string) (*Pooler, error) {
	p := &Pooler{cluster: c, dir: filepath.Join(c.opts.Dir, "pooler")}
	var err error
	if p.port, err = freePort(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = 4
%s
`, c.port, p.port, p.file("users"), strings.Join(settings, "\n"))
	if err := errors.Join(os.WriteFile(p.file("ini"), []byte(text), 0o644),
		os.WriteFile(p.file("users"), []byte(fmt.Sprintf("%q \"\"\n", User)), 0o644)); err != nil {
		return nil, err
	}
	return p, p.Start(ctx)
}

func (p *Pooler) file(name string) string { return filepath.Join(p.dir, name) }

// Start starts the pooler, also again after Kill, and waits until it listens.
func (p *Pooler) Start(ctx context.Context) error {
	bin, err := FindPooler()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(p.file("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(bin, p.file("ini"))
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = "/", log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.cluster.cred}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	for range 500 {
		c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)), time.Second)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), p.Kill())
		case <-time.After(20 * time.Millisecond):
		}
	}
	text, _ := os.ReadFile(p.file("log"))
	return errors.Join(fmt.Errorf("pgbouncer does not listen: %s", tail(text)), p.Kill())
}

// DSN is the cluster's through the pooler.
func (p *Pooler) DSN() string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", User, p.port, Database)
}

// Kill ends the pooler with SIGKILL.
func (p *Pooler) Kill() error {
	if p.cmd == nil {
		return nil
	}
	err := p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
	return err
}
