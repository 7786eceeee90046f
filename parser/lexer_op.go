package parser

import "strings"

// allowedOps are the operators that exist; everything else is refused by name.
var allowedOps = map[string]string{
	"+": "+", "-": "-", "*": "*", "/": "/", "%": "%",
	"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
	"||": "||", "->": "->", "->>": "->>", "=>": "=>",
}

// operator reads the longest run of operator characters and cuts it back by
// PostgreSQL's rule: a name of several characters ends in + or - only if it has a
// character that standard operators lack.
func (s *scanner) operator() error {
	off := s.i
	for s.i < len(s.text) && strings.IndexByte(opChars, s.text[s.i]) >= 0 {
		if rest := s.text[s.i:]; s.i > off && (strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*")) {
			break
		}
		if s.text[s.i] == '`' {
			break
		}
		s.i++
	}
	op := s.text[off:s.i]
	if !strings.ContainsAny(op, "~!@#%^&|?") {
		for len(op) > 1 && (op[len(op)-1] == '+' || op[len(op)-1] == '-') {
			op = op[:len(op)-1]
		}
	}
	if strings.HasPrefix(op, ">>") {
		// The end of a nested type, ARRAY<ARRAY<INT>>; there is no operator >>.
		op = ">"
	}
	s.i = off + len(op)
	canon, ok := allowedOps[op]
	if !ok {
		err := s.errorf(off, `operator "%s" is not supported`, op)
		if h := opHints[op]; h != "" {
			err.Hint = h
		}
		return err
	}
	s.add(tOp, off, canon)
	return nil
}

var opHints = map[string]string{
	"^":   "Use POWER(x, y).",
	"**":  "Use POWER(x, y).",
	"~":   "Use REGEXP_LIKE(x, pattern).",
	"~*":  "Use REGEXP_LIKE(x, pattern, 'i').",
	"!~":  "Use NOT REGEXP_LIKE(x, pattern).",
	"!~*": "Use NOT REGEXP_LIKE(x, pattern, 'i').",
	"<=>": "Use IS NOT DISTINCT FROM.",
	"&&":  "Use AND.",
	"==":  "Use =.",
	"!":   "Use NOT.",
	"#>":  "Use -> step by step.",
	"#>>": "Use -> and ->> step by step.",
}
