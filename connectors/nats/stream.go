package nats

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// streamConfig is a stream as streamsql makes it.
func streamConfig(name string, subjects []string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Subjects: subjects, Storage: jetstream.FileStorage,
		AllowAtomicPublish: true, AllowDirect: true, AllowMsgTTL: true,
	}
}

// defaultStream names the stream that a subject is given when none is named.
func defaultStream(subject string) string {
	head := template{text: subject}.prefix()
	return strings.NewReplacer(".", "_", " ", "_").Replace(or(head, "streamsql"))
}

// info looks a stream up.
func (s *session) info(ctx context.Context, name string) (info *jetstream.StreamInfo, err error) {
	err = s.call(ctx, "look up stream \""+name+"\" of", func(ctx context.Context) error {
		st, err := s.js.Stream(ctx, name)
		if err == nil {
			info = st.CachedInfo()
		}
		return err
	})
	return info, err
}

// stream looks a stream up, and makes it when it is missing and create is set.
func (s *session) stream(ctx context.Context, want jetstream.StreamConfig, create bool) (*jetstream.StreamInfo, error) {
	info, err := s.info(ctx, want.Name)
	if err == nil || !notFound(err) {
		return info, err
	}
	if !create {
		return nil, missingStream(ctx, s, want, "stream \""+want.Name+"\" does not exist")
	}
	err = s.call(ctx, "create stream \""+want.Name+"\" of", func(ctx context.Context) error {
		st, err := s.js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			st, err = s.js.Stream(ctx, want.Name)
		}
		if err == nil {
			info = st.CachedInfo()
		}
		return err
	})
	return info, err
}

// missingStream is the error for a stream that does not exist, with the command that
// makes it and the nearest name.
func missingStream(ctx context.Context, s *session, want jetstream.StreamConfig, msg string) error {
	e := sqlerr.New(sqlerr.CodeSchema, 0, "%s", msg)
	e.Hint = "Create it with: nats stream add " + want.Name + " --subjects \"" + strings.Join(want.Subjects, ",") +
		"\" --defaults, or set \"auto.create\" = 'true'."
	var names []string
	// Without the permission to list there is no nearest name.
	_ = s.call(ctx, "list streams of", func(ctx context.Context) error {
		l := s.js.StreamNames(ctx)
		for n := range l.Name() {
			names = append(names, n)
		}
		return l.Err()
	})
	if near := sqlerr.Nearest(want.Name, names); near != "" {
		e.Hint = "Did you mean \"" + near + "\"? " + e.Hint
	}
	return e
}
