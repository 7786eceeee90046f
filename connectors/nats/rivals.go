package nats

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Codes of the server for a second consumer on a work queue.
const (
	errQueueUnfiltered jetstream.ErrorCode = 10099
	errQueueOverlap    jetstream.ErrorCode = 10100
)

// rivals refuses a work queue of which somebody else reads the same subjects: a message
// goes to one consumer, so that neither would see all. The consumers of whom this job
// takes the place are passed over, or removed.
func (d *durable) rivals(ctx context.Context, remove bool) error {
	if !d.src.queue {
		return nil
	}
	all, err := d.list(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if strings.HasPrefix(c.Name, d.base) || !d.overlaps(&c.Config) {
			continue
		}
		job := c.Config.Metadata[metaJob]
		replaced := job != "" && (job == d.owner.Replaces || d.owner.TakeOver && job != d.owner.Job || d.earlier(c))
		if !replaced {
			return d.taken(&c.Config)
		}
		if remove {
			if err := d.remove(ctx, c.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *durable) overlaps(c *jetstream.ConsumerConfig) bool {
	theirs := c.FilterSubjects
	if c.FilterSubject != "" {
		theirs = append(theirs, c.FilterSubject)
	}
	return d.src.filter == "" || len(theirs) == 0 || overlap(theirs, d.src.filter)
}

func (d *durable) taken(c *jetstream.ConsumerConfig) error {
	reads := c.Metadata[metaJob] != ""
	by := "consumer \"" + c.Name + "\""
	if reads {
		by = "job \"" + c.Metadata[metaName] + "\""
	}
	e := sqlerr.New(sqlerr.CodeFenced, 0, "work queue %q is read by %s, and a message of it goes to one reader only", d.src.stream, by)
	switch {
	case d.query():
		return e.WithHint("Read other subjects, or stop that reader and remove its consumer with: nats consumer rm %s %s.", d.src.stream, c.Name)
	case reads && c.Metadata[metaJob] == d.owner.Job:
		return e.WithDetail("It is this job, which reads it as %q too.", c.Metadata[metaTable]).
			WithHint("Read it once, or give each table subjects of its own.")
	case reads:
		return e.WithDetail("The consumer of that job is %q.", c.Name).
			WithHint("Read other subjects, or stop that job and take its place with --take-over.")
	}
	return e.WithHint("Read other subjects, or remove that consumer with: nats consumer rm %s %s.", d.src.stream, c.Name)
}

// refused makes the server's answer to a consumer ours.
func (d *durable) refused(ctx context.Context, err error) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) || api.ErrorCode != errQueueUnfiltered && api.ErrorCode != errQueueOverlap {
		return err
	}
	if err := d.rivals(ctx, false); err != nil {
		return err
	}
	return sqlerr.New(sqlerr.CodeFenced, 0, "work queue %q is read by another consumer, and a message of it goes to one reader only", d.src.stream).
		WithHint("Read other subjects, or remove that consumer: nats consumer ls %s.", d.src.stream)
}
