package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser"
	"github.com/streamsql/streamsql/parser/tree"
)

// createSink declares a sink and starts the job that fills it.
func (s *Session) createSink(ctx context.Context, st *tree.CreateSink, script *Script) (*Result, error) {
	if err := s.inUse(st); err != nil {
		return nil, script.Fix(err)
	}
	before := s.Catalog()
	snap, tag, err := s.e.define(st, script.Text(), before, s.settings)
	if err != nil {
		return nil, script.Fix(err)
	}
	if snap == before {
		return &Result{Tag: tag}, nil
	}
	r, err := s.insert(ctx, st, script, tag)
	if err == nil {
		s.setCatalog(snap)
	}
	return r, err
}

// insert starts a job from one statement of a session. Without a name it is a new job
// each time it is typed.
func (s *Session) insert(ctx context.Context, st tree.Statement, script *Script, tag string) (*Result, error) {
	spec, err := s.jobOf(st, script)
	if err != nil {
		return nil, err
	}
	spec.name = s.settings.get("job.name")
	j, err := s.e.start(ctx, spec)
	if err != nil {
		return nil, err
	}
	// A name given by SET is for one job.
	delete(s.settings, "job.name")
	return &Result{Tag: tag, Job: j}, nil
}

// jobOf makes a job's text of the statement and the declarations it needs, as a file
// would have them: the checkpoint's text then says all that the state was made by, and
// a changed table is a changed job.
func (s *Session) jobOf(st tree.Statement, script *Script) (jobSpec, error) {
	typed := st.Extent()
	stmt := typed.Text(script.Text())
	var text strings.Builder
	for _, d := range declarations(s.Catalog(), stmt) {
		text.WriteString(strings.TrimRight(d, "; \t\r\n"))
		text.WriteString(";\n")
	}
	begin := sqlerr.Pos(text.Len() + 1)
	text.WriteString(stmt)
	spec := jobSpec{src: text.String(), snap: catalog.Empty, settings: s.settings.clone()}
	spec.fix = func(err error) error {
		return script.Fix(move(err, func(p sqlerr.Pos) sqlerr.Pos {
			if p < begin {
				return 0 // in a declaration, which was typed elsewhere
			}
			return p - begin + typed.Pos
		}))
	}
	all, err := parser.Parse(spec.src)
	if err != nil {
		return spec, spec.fix(err)
	}
	last := len(all) - 1
	declared := all[:last]
	if _, ok := all[last].(*tree.CreateSink); ok {
		declared = all
	}
	for _, d := range declared {
		if spec.snap, _, err = s.e.define(d, spec.src, spec.snap, s.settings); err != nil {
			return spec, spec.fix(err)
		}
	}
	spec.outputs, spec.uses = all[last:], spec.snap
	return spec, nil
}

// declarations gives the CREATE statements of the tables and views that the words of
// text may mean, each after those it needs itself. A word may be a column that is
// called like a table: one declaration too many does no harm.
func declarations(snap *catalog.Snapshot, text string) []string {
	var out, seen []string
	var visit func(text string)
	visit = func(text string) {
		for _, tok := range parser.Tokens(text) {
			if tok.Kind != parser.TokenWord && tok.Kind != parser.TokenQuoted && tok.Kind != parser.TokenString {
				continue
			}
			name, sql := "", ""
			switch t, v := snap.Find(tok.Text, tok.Kind == parser.TokenQuoted); {
			case t != nil:
				name, sql = t.Name, t.SQL
			case v != nil:
				name, sql = v.Name, v.SQL
			default:
				continue
			}
			if slices.Contains(seen, name) {
				continue
			}
			seen = append(seen, name)
			visit(sql)
			out = append(out, sql)
		}
	}
	visit(text)
	return out
}
