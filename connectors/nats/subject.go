package nats

import (
	"bytes"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// template is a subject with names in braces: "orders.{region}.{id}". For a source
// every name stands for one whole token; for a sink a name may be a part of a token.
type template struct {
	text  string
	parts []part
}

// part is a literal text or the name of a column.
type part struct {
	literal string
	name    string
}

func parseTemplate(s string) (template, error) {
	t := template{text: s}
	bad := func(why string) error {
		return sqlerr.New(sqlerr.CodeOption, 0, "subject %q: %s", s, why)
	}
	for rest := s; rest != ""; {
		open := strings.IndexByte(rest, '{')
		if open < 0 {
			if strings.IndexByte(rest, '}') >= 0 {
				return t, bad("a closing brace has no opening one")
			}
			t.parts = append(t.parts, part{literal: rest})
			break
		}
		end := strings.IndexByte(rest, '}')
		if end < open+2 {
			return t, bad("a name in braces is empty or not closed")
		}
		if open > 0 {
			t.parts = append(t.parts, part{literal: rest[:open]})
		}
		t.parts = append(t.parts, part{name: rest[open+1 : end]})
		rest = rest[end+1:]
	}
	return t, nil
}

// filter is the subject with a wildcard for every name.
func (t template) filter() string {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.literal)
		if p.name != "" {
			b.WriteByte('*')
		}
	}
	return b.String()
}

// tokens gives the place of every name, counted in tokens, and fails when a name is
// not a whole token.
func (t template) tokens() (map[string]int, error) {
	out := map[string]int{}
	for i, tok := range strings.Split(t.text, ".") {
		if !strings.ContainsAny(tok, "{}") {
			continue
		}
		if tok[0] != '{' || tok[len(tok)-1] != '}' || strings.Count(tok, "{") != 1 {
			return nil, sqlerr.New(sqlerr.CodeOption, 0, "subject %q: a name in braces must be a whole token", t.text)
		}
		name := tok[1 : len(tok)-1]
		if _, dup := out[name]; dup {
			return nil, sqlerr.New(sqlerr.CodeOption, 0, "subject %q names %q twice", t.text, name)
		}
		out[name] = i
	}
	return out, nil
}

// prefix is the literal tokens before the first name or wildcard.
func (t template) prefix() string {
	var keep []string
	for _, tok := range strings.Split(t.text, ".") {
		if strings.ContainsAny(tok, "{}*>") {
			break
		}
		keep = append(keep, tok)
	}
	return strings.Join(keep, ".")
}

// validSubject reports whether s is a subject, with wildcards if allowed.
func validSubject(s string, wildcards bool) bool {
	toks := strings.Split(s, ".")
	for i, tok := range toks {
		switch {
		case tok == "" || strings.ContainsAny(tok, " \t\r\n\x00"):
			return false
		case tok == "*" || tok == ">":
			if !wildcards || tok == ">" && i != len(toks)-1 {
				return false
			}
		}
	}
	return true
}

// covers reports whether every subject that matches b matches a.
func covers(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i, t := range as {
		switch {
		case t == ">":
			return len(bs) > i
		case i >= len(bs) || bs[i] == ">":
			return false
		case t == "*":
		case t != bs[i]:
			return false
		}
	}
	return len(as) == len(bs)
}

// coveredBy reports whether one of subjects covers s.
func coveredBy(subjects []string, s string) bool {
	for _, x := range subjects {
		if covers(x, s) {
			return true
		}
	}
	return false
}

// token returns token i of a subject, nil when it has fewer.
func token(s []byte, i int) ([]byte, bool) {
	for ; i > 0; i-- {
		dot := bytes.IndexByte(s, '.')
		if dot < 0 {
			return nil, false
		}
		s = s[dot+1:]
	}
	if dot := bytes.IndexByte(s, '.'); dot >= 0 {
		s = s[:dot]
	}
	return s, true
}

// pattern is the subject with a wildcard for every token that holds a name.
func (t template) pattern() string {
	toks := strings.Split(t.text, ".")
	for i, tok := range toks {
		if strings.IndexByte(tok, '{') >= 0 {
			toks[i] = "*"
		}
	}
	return strings.Join(toks, ".")
}
