package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/streamsql/streamsql/connectors/nats/embedded"
)

// broker is a NATS server in a process of its own, so that its time on the CPU and the
// job's are told apart.
type broker struct {
	url string
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startBroker runs this program again as a server over dir.
func startBroker(dir string) (*broker, error) {
	b := &broker{cmd: exec.Command(os.Args[0], "-serve", dir)}
	b.cmd.Stderr = os.Stderr
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if b.in, err = b.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	b.out = bufio.NewScanner(out)
	if !b.out.Scan() {
		return nil, errors.Join(errors.New("the NATS server did not start"), b.cmd.Wait())
	}
	b.url = b.out.Text()
	return b, nil
}

// cpu is the time that the server has spent on the CPU.
func (b *broker) cpu() time.Duration {
	if _, err := fmt.Fprintln(b.in); err != nil || !b.out.Scan() {
		return 0
	}
	n, err := strconv.ParseInt(b.out.Text(), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n)
}

func (b *broker) stop() {
	b.in.Close()
	_ = b.cmd.Wait()
}

// serveBroker is the server: it prints its address, and its time on the CPU for every
// line that it reads, and ends with its input.
func serveBroker(dir string) error {
	s, err := embedded.Start(dir, embedded.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer s.Shutdown()
	fmt.Println(s.URL())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(cpuTime().Nanoseconds())
	}
	return nil
}
