package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/all"
	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser"
)

func (s *Session) show(ctx context.Context, st *parser.Show) (*Result, error) {
	r := &Result{Tag: "SHOW"}
	switch st.Kind {
	case parser.ShowTables:
		r.Columns = []string{"name", "kind", "connector"}
		for _, t := range s.Catalog().Tables() {
			c, _ := t.Option("connector")
			r.Rows = append(r.Rows, []string{t.Name, string(t.Access), c.Value})
		}
	case parser.ShowViews:
		r.Columns = []string{"name"}
		for _, v := range s.Catalog().Views() {
			r.Rows = append(r.Rows, []string{v.Name})
		}
	case parser.ShowJobs:
		r.Columns = []string{"job", "state", "rows in", "rows out", "late", "errors", "epoch", "restarts", "started"}
		for _, j := range s.e.Jobs() {
			r.Rows = append(r.Rows, j.row())
		}
	case parser.ShowFunctions:
		r.Columns = []string{"function", "kind", "description", "example"}
		for _, f := range expr.Functions() {
			r.Rows = append(r.Rows, []string{f.Name, "scalar", f.Doc, f.Example})
		}
		for _, f := range expr.Aggregates() {
			r.Rows = append(r.Rows, []string{f.Name, "aggregate", f.Doc, f.Example})
		}
	case parser.ShowConnectors:
		r.Columns = []string{"connector", "description"}
		for _, c := range s.e.ListConnectors() {
			r.Rows = append(r.Rows, []string{c.Name, c.Doc})
		}
	case parser.ShowSettings:
		r.Columns = []string{"setting", "value", "default", "description"}
		for _, d := range Settings() {
			r.Rows = append(r.Rows, []string{d.Name, s.settings.get(d.Name), d.Default, d.Doc})
		}
	case parser.ShowCreateTable:
		n := st.Table.Last()
		t, v := s.Catalog().Find(n.Text, n.Quoted)
		if t == nil && v == nil {
			return nil, unknownTable(s.Catalog(), n)
		}
		r.Columns = []string{"create statement"}
		sql := ""
		if t != nil {
			sql = hideSecrets(t)
		} else {
			sql = v.SQL
		}
		r.Rows = [][]string{{sql}}
	case parser.ShowCheckpoints:
		return s.showCheckpoints(ctx, st)
	case parser.ShowSavepoints:
		list, err := s.e.Savepoints(ctx)
		if err != nil {
			return nil, err
		}
		r.Columns = []string{"savepoint", "job", "epoch", "created"}
		for _, sp := range list {
			r.Rows = append(r.Rows, []string{sp.Path, sp.Manifest.Name, fmt.Sprint(sp.Manifest.Epoch), stamp(sp.Manifest.Created)})
		}
	default:
		return nil, sqlerr.NotSupported(st.Pos, "this form of SHOW")
	}
	return r, nil
}

func (s *Session) showCheckpoints(ctx context.Context, st *parser.Show) (*Result, error) {
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
		list, err := s.e.Checkpoints(ctx, n)
		if err != nil {
			if st.Job != nil {
				return nil, at(err, st.Job.Pos)
			}
			return nil, err
		}
		for _, m := range list {
			r.Rows = append(r.Rows, CheckpointRow(n, m))
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

func unknownTable(snap *catalog.Snapshot, n parser.Name) error {
	e := sqlerr.New(sqlerr.CodeUndefinedTable, n.Pos, "table %q does not exist", n.Text)
	if near := sqlerr.Nearest(n.Text, snap.Names()); near != "" {
		e.WithHint("did you mean %q?", near)
	}
	return e
}

func (s *Session) describe(st *parser.Describe) (*Result, error) {
	n := st.Name.Last()
	t, v := s.Catalog().Find(n.Text, n.Quoted)
	r := &Result{Tag: "DESCRIBE", Columns: []string{"column", "type", "null", "details"}}
	switch {
	case v != nil:
		schema, err := schemaOf(v.Name, s.Catalog(), s.e.planOptions(s.settings, nil))
		if err != nil {
			return nil, err
		}
		for _, c := range schema {
			r.Rows = append(r.Rows, []string{c.Name, c.Type.String(), nullWord(c.NotNull), ""})
		}
		return r, nil
	case t == nil:
		return nil, unknownTable(s.Catalog(), n)
	}
	for _, c := range t.Columns {
		var details []string
		if c.Computed != "" {
			details = append(details, "AS "+c.Computed)
		}
		if c.Metadata != "" {
			details = append(details, "METADATA FROM '"+c.Metadata+"'")
		}
		for _, k := range t.Key {
			if k == c.Name {
				details = append(details, "PRIMARY KEY")
			}
		}
		if t.WatermarkColumn == c.Name {
			details = append(details, "WATERMARK AS "+t.Watermark)
		}
		r.Rows = append(r.Rows, []string{c.Name, c.Type.String(), nullWord(c.NotNull), strings.Join(details, ", ")})
	}
	return r, nil
}

func nullWord(notNull bool) string {
	if notNull {
		return "not null"
	}
	return ""
}

// hideSecrets gives the CREATE statement of t without the values of its secret options.
func hideSecrets(t *catalog.Table) string {
	c, _ := t.Option("connector")
	conn, _ := all.Find(c.Value)
	secret := make(map[string]bool)
	for _, o := range conn.Options {
		if o.Type == connectors.OptSecret {
			secret[o.Name] = true
			for _, a := range o.Aliases {
				secret[a] = true
			}
		}
	}
	sql := t.SQL
	start := strings.LastIndex(t.Source[:int(t.Pos)-1+len(t.Name)], sql[:min(len(sql), 6)])
	for i := len(t.Options) - 1; i >= 0; i-- {
		o := t.Options[i]
		at := int(o.ValuePos) - 1 - start
		if !secret[o.Key] || strings.HasPrefix(o.Value, "${") || at < 0 || at >= len(sql) {
			continue
		}
		written := parser.QuoteString(o.Value)
		if strings.HasPrefix(sql[at:], written) {
			sql = sql[:at] + "'***'" + sql[at+len(written):]
		}
	}
	return sql
}
