package expr

import (
	"encoding/binary"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

type compiler struct {
	p       *Program
	seen    map[nodeKey]*node
	folding bool
}

// nodeKey tells nodes apart: what the node itself is, and the places of its arguments
// among the program's nodes. Equal expressions have equal keys.
type nodeKey struct {
	own  string
	args string
}

// compile returns the node of e, sharing it with equal expressions.
func (c *compiler) compile(e *Expr) (*node, error) {
	args := make([]*node, len(e.Args))
	for i, a := range e.Args {
		an, err := c.compile(a)
		if err != nil {
			return nil, err
		}
		args[i] = an
	}
	key := keyOf(e, args)
	if n, ok := c.seen[key]; ok {
		// The arguments were counted for a node that is not made.
		for _, a := range args {
			a.uses--
		}
		n.uses++
		return n, nil
	}
	n, err := c.build(e, args)
	if err != nil {
		return nil, err
	}
	if !c.folding && n.op >= opCall && foldable(e, args) {
		if v, ok := fold(e, args); ok {
			n = &node{op: opConst, typ: e.Type, val: v, pos: e.Pos}
		}
	}
	c.add(key, n)
	return n, nil
}

func (c *compiler) add(key nodeKey, n *node) {
	n.id, n.uses = len(c.p.nodes), 1
	c.seen[key] = n
	c.p.nodes = append(c.p.nodes, n)
}

// before gives the node of what calls have in common.
func (c *compiler) before(b *before, arg *node) *node {
	key := nodeKey{b.name, ids(arg)}
	if n, ok := c.seen[key]; ok {
		n.uses++
		n.most = max(n.most, b.most)
		return n
	}
	arg.uses++
	n := &node{op: opCall, typ: types.TBigInt, args: []*node{arg}, run: b.run, strict: true, cost: arg.cost + b.cost, raises: arg.raises, most: b.most}
	c.add(key, n)
	return n
}

func keyOf(e *Expr, args []*node) nodeKey {
	var own strings.Builder
	e.writeOwnKey(&own)
	return nodeKey{own.String(), ids(args...)}
}

func ids(args ...*node) string {
	b := make([]byte, 0, 4*len(args))
	for _, a := range args {
		b = binary.BigEndian.AppendUint32(b, uint32(a.id))
	}
	return string(b)
}

// foldable reports a call or cast of constants whose result is always the same.
func foldable(e *Expr, args []*node) bool {
	for _, a := range args {
		if a.op != opConst {
			return false
		}
	}
	if e.Kind != Call {
		return true
	}
	f, ok := LookupFunc(e.Fn)
	return ok && f.Volatility != Volatile
}

// fold evaluates e over constant arguments; one that fails is left to fail for the rows
// that need it.
func fold(e *Expr, args []*node) (types.Value, bool) {
	flat := *e
	flat.Args = make([]*Expr, len(args))
	for i, a := range args {
		v := a.val
		flat.Args[i] = &Expr{Kind: Literal, Type: a.typ, Val: &v, Pos: a.pos}
	}
	p := &Program{}
	c := compiler{p: p, seen: make(map[nodeKey]*node), folding: true}
	n, err := c.compile(&flat)
	if err != nil {
		return types.Value{}, false
	}
	n.output = true
	p.outputs, p.out = []*node{n}, p.out[:0]
	p.out = append(p.out, nil)
	p.frames[1].id = 1
	v, err := p.evalOne()
	return v, err == nil
}

func (c *compiler) build(e *Expr, args []*node) (*node, error) {
	n := &node{typ: e.Type, pos: e.Pos, args: args}
	for _, an := range args {
		n.cost += an.cost
		n.raises = n.raises || an.raises
	}
	switch e.Kind {
	case Column:
		if e.Col < 0 || e.Col >= len(c.p.in) {
			return nil, sqlerr.Internalf("expression reads column %d of %d", e.Col, len(c.p.in))
		}
		if got := c.p.in[e.Col]; got != e.Type {
			return nil, sqlerr.Internalf("expression reads column %d as %s, but it is %s", e.Col, e.Type, got)
		}
		n.col = e.Col
	case Literal:
		n.op, n.val = opConst, *e.Val
	case And:
		n.op = opAnd
	case Or:
		n.op = opOr
	case Case:
		n.op, n.cost = opCase, n.cost+5
	case Coalesce:
		n.op, n.cost = opCoalesce, n.cost+5
	case Cast, TryCast:
		return n, c.buildCast(n, e)
	case Call:
		return n, c.buildCall(n, e)
	default:
		return nil, sqlerr.Internalf("unknown expression kind %q", e.Kind)
	}
	return n, nil
}

func (c *compiler) buildCast(n *node, e *Expr) error {
	from := e.Args[0].Type
	im, ok := castImpl(from, e.Type, e.Fn == "assign")
	if !ok {
		return sqlerr.Internalf("no cast from %s to %s", from, e.Type)
	}
	n.strict = true
	if im.run == nil {
		n.op = opRetype
		return nil
	}
	n.op, n.run, n.cost, n.quiet = opCall, im.run, n.cost+im.cost, e.Kind == TryCast
	n.raises = n.raises || im.raises && !n.quiet
	return nil
}

func (c *compiler) buildCall(n *node, e *Expr) error {
	f, ok := LookupFunc(e.Fn)
	if !ok {
		return sqlerr.Internalf("unknown function %q", e.Fn)
	}
	args := make([]Arg, len(n.args))
	for i, a := range n.args {
		args[i].Type = a.typ
		if a.op == opConst && !a.val.Null {
			args[i].Const = &a.val
		}
	}
	factory := f.kernel
	for i := range f.Sigs {
		if s := &f.Sigs[i]; s.kernel != nil && s.fits(args) {
			factory = s.kernel
			break
		}
	}
	if factory == nil {
		return sqlerr.Internalf("no kernel for %s with these types", e.Fn)
	}
	im := factory(args, e.Type)
	n.op, n.run, n.strict = opCall, im.run, f.Strict
	n.cost += max(im.cost, 1)
	n.raises = n.raises || im.raises
	if b := im.before; b != nil {
		n.args = append(n.args, c.before(b, n.args[b.arg]))
		n.cost += b.cost
	}
	return nil
}

func (s *Sig) fits(args []Arg) bool {
	if !s.takes(len(args)) {
		return false
	}
	for i, a := range args {
		if k := s.kindOf(i); k != a.Type.Kind && k != anyKind {
			return false
		}
	}
	return true
}
