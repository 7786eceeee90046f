package logical

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/expr"
)

// Fingerprint is equal for two nodes that give the same rows by the same means over
// the inputs that inputs names; places in the text and column names do not count.
// Sinks have none ("").
func Fingerprint(n Node, inputs []string) string {
	var b strings.Builder
	switch n := n.(type) {
	case *Scan:
		fmt.Fprintf(&b, "scan %q %v %v ", n.Table.Def.Name, n.Output, n.Timed)
		writeExpr(&b, n.Predicate)
	case *Values:
		fmt.Fprintf(&b, "values %v", n.Rows)
		for _, c := range n.Names {
			fmt.Fprintf(&b, " %v", c.Type)
		}
	case *Filter:
		b.WriteString("filter ")
		writeExpr(&b, n.Pred)
	case *Project:
		b.WriteString("project ")
		for _, e := range n.Exprs {
			writeExpr(&b, e)
		}
	case *Stamp:
		fmt.Fprintf(&b, "stamp %v %v", n.Types, n.Timed)
	case *Assign:
		fmt.Fprintf(&b, "assign %v %d", n.Window, n.Time)
	case *GroupAgg:
		fmt.Fprintf(&b, "group %v", n.Keys)
		writeAggs(&b, n.Aggs)
	case *WindowAgg:
		fmt.Fprintf(&b, "window %v %d %v %v", n.Window, n.Time, n.Keys, n.Props)
		writeAggs(&b, n.Aggs)
	case *Union:
		b.WriteString("union")
	default:
		return ""
	}
	for _, in := range inputs {
		fmt.Fprintf(&b, "(%d:%s)", len(in), in)
	}
	return b.String()
}

// FingerprintAll is equal for two DAGs of the same nodes, shared in the same way.
func FingerprintAll(roots []Node) string {
	var b strings.Builder
	ids := map[Node]string{}
	for i, n := range Order(roots) {
		ids[n] = strconv.Itoa(i)
		in := make([]string, len(n.Inputs()))
		for k, c := range n.Inputs() {
			in[k] = ids[c]
		}
		print := Fingerprint(n, in)
		if _, sink := n.(*Sink); sink {
			print = "sink " + in[0]
		}
		b.WriteString(print + "\n")
	}
	return b.String()
}

func writeAggs(b *strings.Builder, aggs []expr.AggCall) {
	for _, a := range aggs {
		fmt.Fprintf(b, " %s%v%v/%d:%v", a.Fn, a.Args, a.Distinct, a.Filter, a.Type)
	}
}

func writeExpr(b *strings.Builder, e *expr.Expr) {
	if e == nil {
		b.WriteString("()")
		return
	}
	fmt.Fprintf(b, "(%s %v", e.Kind, e.Type)
	switch e.Kind {
	case expr.Column:
		b.WriteString(" #" + strconv.Itoa(e.Col))
	case expr.Literal:
		fmt.Fprintf(b, " %+v", literalKey(e))
	case expr.Call:
		b.WriteString(" " + strconv.Quote(e.Fn))
	}
	for _, a := range e.Args {
		writeExpr(b, a)
	}
	b.WriteString(")")
}

func literalKey(e *expr.Expr) string {
	v := e.Val
	return fmt.Sprintf("%v %d %x %v %q %v", v.Null, v.I, v.F, v.Dec, v.S, v.Iv)
}
