package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/repl"
)

// inspect prints what a checkpoint or savepoint holds.
func (a *app) inspect(m *checkpoint.Manifest) error {
	if a.format != "" && a.format != "table" {
		return usageError{fmt.Errorf("inspect prints text only, not %s", a.format)}
	}
	fmt.Fprintf(a.stdout, "job       %s (id %s)\nepoch     %d, attempt %d\nmade by   streamsql %s, manifest version %d, key hash %s\n\n",
		m.Name, m.Job, m.Epoch, m.Attempt, m.Program, m.Version, m.Hash)
	var rows [][]string
	for _, t := range m.Tasks {
		var bytes int64
		for _, b := range t.Blobs {
			bytes += b.Size
		}
		var splits []string
		for _, s := range t.Splits {
			splits = append(splits, s.ID+" "+string(s.Position))
		}
		rows = append(rows, []string{fmt.Sprint(t.Node), fmt.Sprintf("%d/%d", t.Subtask, t.Parallelism),
			fmt.Sprintf("[%d,%d)", t.Groups.From, t.Groups.To), fmt.Sprint(bytes), strings.Join(splits, "; ")})
	}
	if err := a.table([]string{"node", "subtask", "key groups", "state bytes", "positions"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, s := range m.Sinks {
		rows = append(rows, []string{fmt.Sprint(s.Node), s.Mode, s.Target, fmt.Sprint(s.Count)})
	}
	return a.table([]string{"sink node", "mode", "target", "rows kept"}, rows)
}

// table prints rows as --format says.
func (a *app) table(columns []string, rows [][]string) error {
	return repl.NewPrinter(a.stdout, a.format, false).Table(columns, rows)
}

// verify reads a checkpoint or savepoint back.
func (a *app) verify(ctx context.Context, s checkpoint.Store, m *checkpoint.Manifest) error {
	if err := checkpoint.Verify(ctx, s, m); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "epoch %d: ok, %d objects\n", m.Epoch, len(checkpoint.Blobs(m)))
	return nil
}
