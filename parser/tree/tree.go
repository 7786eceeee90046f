// Package tree is the syntax tree of streamsql's SQL: plain data with the place of every
// node in the submitted text, and its way back to SQL text. package parser makes it; the
// planner and the engine read it.
//
// Switch on the concrete types behind Statement, QueryBody, TableExpr and Expr; all of
// them are pointers.
package tree

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Span is the extent of a node in the submitted text: Pos is the 1-based byte
// offset of its first byte, End that of the byte after its last. A zero Span
// belongs to a node that the user did not write.
type Span struct {
	Pos sqlerr.Pos
	End sqlerr.Pos
}

// Extent returns the span itself; it is promoted to every node.
func (s Span) Extent() Span { return s }

// Text cuts the span out of src, the text that was parsed.
func (s Span) Text(src string) string {
	if s.Pos < 1 || s.End < s.Pos || int(s.End)-1 > len(src) {
		return ""
	}
	return src[s.Pos-1 : s.End-1]
}

// Name is one identifier. Text is as typed (quotes removed, doubled quotes
// undoubled); an unquoted name matches without regard to case.
type Name struct {
	Span
	Text   string
	Quoted bool
}

// Matches reports whether n, as the user wrote it, names the declared identifier.
func (n Name) Matches(declared string) bool {
	if n.Quoted {
		return n.Text == declared
	}
	return strings.EqualFold(n.Text, declared)
}

// QualifiedName is a dotted name, outermost qualifier first.
type QualifiedName struct {
	Span
	Parts []Name
}

// Last returns the innermost name.
func (q QualifiedName) Last() Name { return q.Parts[len(q.Parts)-1] }

// String joins the parts with dots, without quotes; for messages.
func (q QualifiedName) String() string { return JoinNames(q.Parts) }

func JoinNames(parts []Name) string {
	if len(parts) == 1 {
		return parts[0].Text
	}
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(p.Text)
	}
	return b.String()
}
