// Command docs writes the reference pages in docs/ from the tables in the code:
// functions, connectors, settings, errors. With -check it only says which are stale.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/all"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/expr/agg"
	"github.com/streamsql/streamsql/planner"
	"github.com/streamsql/streamsql/planner/plan"
)

func main() {
	stale, err := run(".", len(os.Args) > 1 && os.Args[1] == "-check")
	if err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
	if len(stale) > 0 {
		fmt.Fprintf(os.Stderr, "stale: %s; run make docs\n", strings.Join(stale, ", "))
		os.Exit(1)
	}
}

// run writes the pages below root, or with check lists those that differ.
func run(root string, check bool) (stale []string, err error) {
	errorsPage, err := errorCodes(filepath.Join(root, "internal/sqlerr/codes.go"))
	if err != nil {
		return nil, err
	}
	pages := []struct {
		name string
		text string
	}{
		{"docs/functions.md", functions()},
		{"docs/connectors.md", connectorPages()},
		{"docs/settings.md", settings()},
		{"docs/errors.md", errorsPage},
	}
	for _, p := range pages {
		path := filepath.Join(root, p.name)
		old, err := os.ReadFile(path)
		if err == nil && bytes.Equal(old, []byte(p.text)) {
			continue
		}
		if check {
			stale = append(stale, p.name)
			continue
		}
		if err := os.WriteFile(path, []byte(p.text), 0o644); err != nil {
			return nil, err
		}
	}
	return stale, nil
}

func page(title, intro string) *strings.Builder {
	b := &strings.Builder{}
	fmt.Fprintf(b, "# %s\n\n<!-- written by make docs from the tables in the code -->\n\n%s\n", title, intro)
	return b
}

func cell(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "|", "\\|"), "\n", " ")
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}

func functions() string {
	b := page("Functions", "Each example runs as a test, and against PostgreSQL where it has the function. A name that both PostgreSQL and\nFlink have means PostgreSQL's.")
	b.WriteString("\n## Scalar functions and operators\n\n| function | what it does | example | result | differs from Flink |\n| --- | --- | --- | --- | --- |\n")
	for _, f := range expr.Functions() {
		name := code(f.Name)
		for _, a := range f.Aliases {
			name += ", " + code(a)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", name, cell(f.Doc), code(f.Example), code(f.ExampleResult), cell(f.Differs))
	}
	b.WriteString("\n## Aggregates\n\n| function | what it does | example |\n| --- | --- | --- |\n")
	for _, f := range agg.Functions() {
		fmt.Fprintf(b, "| %s | %s | %s |\n", code(f.Name), cell(f.Doc), code(f.Example))
	}
	return b.String()
}

func connectorPages() string {
	b := page("Connectors", "Keys of `WITH (…)`. An unknown key is an error.")
	b.WriteString("\n## Every connector\n\n")
	options(b, planner.CommonOptions())
	for _, c := range all.List() {
		fmt.Fprintf(b, "\n## %s\n\n%s.\n\n", c.Name, c.Doc)
		options(b, c.Options)
		if len(c.Metadata) == 0 {
			continue
		}
		b.WriteString("\n| metadata column | type | what it is |\n| --- | --- | --- |\n")
		for _, m := range c.Metadata {
			fmt.Fprintf(b, "| %s | %s | %s |\n", code(m.Name), m.Type, cell(m.Doc))
		}
	}
	b.WriteString("\n## Dead letters\n\nA table named by `dead-letter.table` has columns among these and no PRIMARY KEY.\n\n| column | type | what it holds |\n| --- | --- | --- |\n")
	for i, c := range plan.DeadLetterSchema {
		fmt.Fprintf(b, "| %s | %s | %s |\n", code(c.Name), c.Type, plan.DeadLetterDocs[i])
	}
	b.WriteString("\n# Formats\n")
	for _, f := range format.List() {
		fmt.Fprintf(b, "\n## %s\n\n%s.\n", f.Name, f.Doc)
		if len(f.Options) == 0 {
			continue
		}
		b.WriteString("\n| key | default | values | what it does |\n| --- | --- | --- | --- |\n")
		for _, o := range f.Options {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(o.Name), code(o.Default), cell(strings.Join(o.Enum, ", ")), cell(o.Doc))
		}
	}
	return b.String()
}

func options(b *strings.Builder, list []connectors.Option) {
	if len(list) == 0 {
		b.WriteString("It has no keys of its own.\n")
		return
	}
	b.WriteString("| key | type | default | what it does |\n| --- | --- | --- | --- |\n")
	for _, o := range list {
		kind := string(o.Type)
		if len(o.Enum) > 0 {
			kind = strings.Join(o.Enum, ", ")
		}
		doc := o.Doc
		if o.Required {
			doc += " (required)"
		}
		if len(o.Aliases) > 0 {
			doc += "; also " + strings.Join(o.Aliases, ", ")
		}
		name := o.Name
		if o.Prefix {
			name += "*"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(name), cell(kind), code(o.Default), cell(doc))
	}
}

func settings() string {
	b := page("Settings", "Keys of `SET`, and of `--set`. In a job's file they hold for the whole job.")
	b.WriteString("\n| key | type | default | what it does |\n| --- | --- | --- | --- |\n")
	for _, s := range engine.Settings() {
		kind := string(s.Type)
		if len(s.Enum) > 0 {
			kind = strings.Join(s.Enum, ", ")
			if len(s.Later) > 0 {
				kind += " (not supported yet: " + strings.Join(s.Later, ", ") + ")"
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(s.Name), cell(kind), code(s.Default), cell(s.Doc))
	}
	return b.String()
}

// errorCodes reads the constants of package sqlerr with their comments.
func errorCodes(path string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return "", err
	}
	b := page("Errors", "Five-character codes are PostgreSQL's SQLSTATE for the same condition; those that begin with SS are streamsql's own.")
	b.WriteString("\n| code | condition |\n| --- | --- |\n")
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				return "", err
			}
			doc := words(strings.TrimPrefix(v.Names[0].Name, "Code"))
			if v.Doc != nil {
				_, text, _ := strings.Cut(strings.Join(strings.Fields(v.Doc.Text()), " "), ": ")
				doc = strings.TrimSuffix(text, ".")
			}
			fmt.Fprintf(b, "| %s | %s |\n", code(value), cell(doc))
		}
	}
	return b.String(), nil
}

// words splits a Go name: "DivisionByZero" is "division by zero".
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte(' ')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
