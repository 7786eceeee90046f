package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/expr/agg"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// show runs SHOW.
func (s *Session) show(ctx context.Context, st *tree.Show) (*Result, error) {
	r := &Result{Tag: "SHOW"}
	switch st.Kind {
	case tree.ShowTables:
		r.Columns = []string{"name", "kind", "connector"}
		for _, t := range s.Catalog().Tables() {
			c, _ := t.Option("connector")
			r.Rows = append(r.Rows, []string{t.Name, string(t.Access), c.Value})
		}
	case tree.ShowViews:
		r.Columns = []string{"name"}
		for _, v := range s.Catalog().Views() {
			r.Rows = append(r.Rows, []string{v.Name})
		}
	case tree.ShowJobs:
		r.Columns = []string{"job", "state", "rows in", "rows out", "late", "partly late", "broken", "dead letters", "epoch", "restarts", "memory", "started", "error"}
		for _, j := range s.e.Jobs() {
			r.Rows = append(r.Rows, j.row())
		}
	case tree.ShowFunctions:
		r.Columns = []string{"function", "kind", "description", "example"}
		for _, f := range expr.Functions() {
			r.Rows = append(r.Rows, []string{f.Name, "scalar", f.Doc, f.Example})
		}
		for _, f := range agg.Functions() {
			r.Rows = append(r.Rows, []string{f.Name, "aggregate", f.Doc, f.Example})
		}
	case tree.ShowConnectors:
		r.Columns = []string{"connector", "description"}
		for _, c := range s.e.ListConnectors() {
			r.Rows = append(r.Rows, []string{c.Name, c.Doc})
		}
	case tree.ShowSettings:
		r.Columns = []string{"setting", "value", "default", "description"}
		for _, d := range Settings() {
			r.Rows = append(r.Rows, []string{d.Name, s.settings.get(d.Name), d.Default, d.Doc})
		}
	case tree.ShowCreateTable:
		n := st.Table.Last()
		t, v := s.Catalog().Find(n.Text, n.Quoted)
		if t == nil && v == nil {
			return nil, unknownTable(s.Catalog(), n)
		}
		r.Columns = []string{"create statement"}
		if t != nil {
			r.Rows = [][]string{{s.e.hideSecrets(t)}}
		} else {
			r.Rows = [][]string{{v.SQL}}
		}
	case tree.ShowCheckpoints:
		return s.showCheckpoints(ctx, st)
	case tree.ShowSavepoints:
		list, unreadable, err := s.e.Savepoints(ctx)
		if err != nil {
			return nil, err
		}
		r.Columns = []string{"savepoint", "job", "epoch", "created"}
		for _, sp := range list {
			r.Rows = append(r.Rows, []string{sp.Path, sp.Manifest.Name, fmt.Sprint(sp.Manifest.Epoch), stamp(sp.Manifest.Created)})
		}
		for _, err := range unreadable {
			r.Rows = append(r.Rows, []string{"unreadable: " + err.Error(), "", "", ""})
		}
	default:
		return nil, sqlerr.NotSupported(st.Pos, "this form of SHOW")
	}
	return r, nil
}

func (s *Session) showCheckpoints(ctx context.Context, st *tree.Show) (*Result, error) {
	r := &Result{Tag: "SHOW", Columns: []string{"job", "epoch", "attempt", "bytes", "created", "kind"}}
	var names []string
	if st.Job != nil {
		names = []string{st.Job.Value}
	} else {
		var err error
		if names, err = s.e.StoredJobs(ctx); err != nil {
			return nil, err
		}
	}
	for _, n := range names {
		list, unreadable, err := s.e.Checkpoints(ctx, n)
		switch {
		case err != nil && st.Job != nil:
			return nil, at(err, st.Job.Pos)
		case ctx.Err() != nil:
			return nil, err
		case err != nil:
			unreadable = []error{err}
		}
		for _, m := range list {
			r.Rows = append(r.Rows, CheckpointRow(n, m))
		}
		for _, err := range unreadable {
			r.Rows = append(r.Rows, []string{n, "", "", "", "", "unreadable: " + err.Error()})
		}
	}
	return r, nil
}

// CheckpointRow is a line about one checkpoint: job, epoch, attempt, bytes, created, kind.
func CheckpointRow(job string, m *checkpoint.Manifest) []string {
	var bytes int64
	for _, b := range checkpoint.Blobs(m) {
		bytes += b.Size
	}
	kind := "running"
	switch {
	case m.Finished:
		kind = "finished"
	case m.Stopped:
		kind = "stopped"
	}
	return []string{job, fmt.Sprint(m.Epoch), fmt.Sprint(m.Attempt), fmt.Sprint(bytes), stamp(m.Created), kind}
}

func stamp(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05")
}
