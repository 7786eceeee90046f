package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// NewID returns a random job id.
func NewID() string {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // crypto/rand.Read never fails on supported systems
	}
	return hex.EncodeToString(b[:])
}

// JobOf returns the id of the job called name, "" when there is none.
func JobOf(ctx context.Context, s Store, name string) (string, error) {
	names, err := s.List(ctx, nameDir(name))
	if err != nil {
		return "", fmt.Errorf("look up job %q: %w", name, err)
	}
	if len(names) == 0 {
		return "", nil
	}
	id, err := s.Get(ctx, names[len(names)-1])
	if err != nil {
		return "", fmt.Errorf("look up job %q: %w", name, err)
	}
	return string(id), nil
}

// BindName makes name mean the job id from now on.
func BindName(ctx context.Context, s Store, name, id string) error {
	for range 100 {
		names, err := s.List(ctx, nameDir(name))
		if err != nil {
			return fmt.Errorf("name job %q: %w", name, err)
		}
		next := uint64(1)
		if len(names) > 0 {
			last := names[len(names)-1]
			if n, ok := number(last); ok {
				next = n + 1
			}
			if b, err := s.Get(ctx, last); err == nil && string(b) == id {
				return nil
			}
		}
		err = s.Create(ctx, fmt.Sprintf("%s%010d", nameDir(name), next), []byte(id))
		if err == nil {
			return nil
		}
		if !errors.Is(err, ErrExists) {
			return fmt.Errorf("name job %q: %w", name, err)
		}
	}
	return sqlerr.Internalf("job name %q is taken again and again", name)
}

// NewAttempt creates the next attempt of a job: one above the highest. An attempt
// whose create was reported as failed may exist; its number is then not used.
func NewAttempt(ctx context.Context, s Store, job string) (uint64, error) {
	for {
		n, err := HighestAttempt(ctx, s, job)
		if err != nil {
			return 0, err
		}
		err = s.Create(ctx, AttemptName(job, n+1), []byte(NewID()))
		if err == nil {
			return n + 1, nil
		}
		if !errors.Is(err, ErrExists) {
			return 0, fmt.Errorf("create attempt %d: %w", n+1, err)
		}
	}
}

// HighestAttempt is the number of the newest attempt, 0 for none.
func HighestAttempt(ctx context.Context, s Store, job string) (uint64, error) {
	names, err := s.List(ctx, jobDir(job)+"attempt/")
	if err != nil {
		return 0, fmt.Errorf("list attempts: %w", err)
	}
	if len(names) == 0 {
		return 0, nil
	}
	n, ok := number(names[len(names)-1])
	if !ok {
		return 0, &sqlerr.Error{Class: sqlerr.External, Code: sqlerr.CodeCheckpoint,
			Msg: fmt.Sprintf("object %q is not an attempt", names[len(names)-1])}
	}
	return n, nil
}

// CheckAttempt fails with CodeFenced when a higher attempt than n exists, and with an
// External error when n itself is gone: attempts are never deleted, so the store is not
// the one that n began in, as when a disk is no longer mounted.
func CheckAttempt(ctx context.Context, s Store, job string, n uint64) error {
	h, err := HighestAttempt(ctx, s, job)
	if err != nil {
		return err
	}
	if h > n {
		return &sqlerr.Error{Class: sqlerr.User, Code: sqlerr.CodeFenced,
			Msg: fmt.Sprintf("attempt %d of this job has started and attempt %d ends", h, n)}
	}
	if h < n {
		return sqlerr.Externalf(sqlerr.CodeCheckpoint, nil, "the store of checkpoints is not the one that attempt %d of this job began in", n)
	}
	return nil
}
