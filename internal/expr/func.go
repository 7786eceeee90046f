package expr

import (
	"slices"
	"strings"
	"sync"

	"github.com/streamsql/streamsql/internal/types"
)

// Volatility says how far a function's result depends on its arguments alone.
type Volatility uint8

const (
	// Immutable: the same arguments always give the same result.
	Immutable Volatility = iota
	// Stable: the result depends on the time zone of the session.
	Stable
	// Volatile: the result may differ from call to call.
	Volatile
)

func (v Volatility) String() string { return [...]string{"immutable", "stable", "volatile"}[v] }

// Func is one row of the function table: everything there is to know of a scalar
// function or operator.
type Func struct {
	Name    string
	Aliases []string
	// Doc is one line.
	Doc string
	// Example is a call in SQL, ExampleResult its result as text ("NULL" for NULL).
	Example, ExampleResult string
	// PG is a PostgreSQL expression with the same result as Example, or "" when
	// PostgreSQL has none.
	PG string
	// Differs says how Flink's function of this name differs, "" when it does not.
	Differs string
	// Strict: NULL for a NULL argument.
	Strict     bool
	Volatility Volatility
	// Sigs lists the signatures; nil when the function settles its types itself, and then
	// Forms says in words what it takes.
	Sigs  []Sig
	Forms []string

	// resolve checks and converts the arguments and gives the result type. It is used
	// in place of Sigs.
	resolve func(args []*Expr) ([]*Expr, types.Type, error)
	// check refuses literal arguments that no row could do anything with, such as a
	// pattern that is none. The arguments are converted.
	check func(args []*Expr) error
	// lower rewrites the call into other expressions, for functions without a kernel.
	lower func(args []*Expr) (*Expr, error)
	// kernel makes the kernel for converted arguments; a signature's own comes first.
	kernel func(args []Arg, result types.Type) impl
}

// Sig is one signature.
type Sig struct {
	Args []types.Kind
	// Optional is the number of trailing Args that may be left out.
	Optional int
	// Variadic: the last argument may be repeated.
	Variadic bool
	Ret      types.Type

	// ret computes the result type where it depends on the arguments'.
	ret    func(args []types.Type) types.Type
	kernel func(args []Arg, result types.Type) impl
}

// anyKind in a signature takes an argument of every type as it is.
const anyKind types.Kind = 255

// Arg is an argument as a kernel factory sees it.
type Arg struct {
	Type types.Type
	// Const is the value of a constant argument, nil for others.
	Const *types.Value
}

// impl is a kernel with what the evaluator must know of it.
type impl struct {
	run kernel
	// raises: a row may fail. Such an expression is never evaluated for a row that
	// does not need it.
	raises bool
	// cost is roughly nanoseconds a row.
	cost int
	// before, if any, is computed first, once for all calls that name the same; its
	// column is the kernel's last argument.
	before *before
}

// before is what calls of one argument have in common: a BIGINT of the argument.
type before struct {
	name string // tells it from others
	arg  int
	run  kernel
	cost int
	most int // how much of it the call wants: its node has the greatest
}

// Signatures describes each form of a call: "left(varchar, int) → varchar".
func (f *Func) Signatures() []string {
	out := slices.Clone(f.Forms)
	for i := range f.Sigs {
		s := &f.Sigs[i]
		var b strings.Builder
		b.WriteString(f.Name + "(")
		for k, a := range s.Args {
			if k >= len(s.Args)-s.Optional {
				b.WriteString(" [")
			}
			if k > 0 {
				b.WriteString(", ")
			}
			b.WriteString(kindWord(a))
		}
		if s.Variadic {
			b.WriteString(", …")
		}
		b.WriteString(strings.Repeat("]", s.Optional) + ")")
		if s.ret == nil {
			b.WriteString(" → " + kindWord(s.Ret.Kind))
		}
		out = append(out, b.String())
	}
	return out
}

// kindWord is the name of a type without its parameters.
func kindWord(k types.Kind) string {
	switch k {
	case anyKind:
		return "any"
	case types.Timestamp:
		return "timestamp"
	case types.TimestampTZ:
		return "timestamp with time zone"
	}
	return strings.ToLower(types.Type{Kind: k}.String())
}

// functionTable is the one list of scalar functions and operators, by area.
func functionTable() []Func {
	return slices.Concat(arithFuncs(), compareFuncs(), condFuncs(), mathFuncs(), stringFuncs(), likeFuncs(), regexpFuncs(), jsonFuncs(), timeFuncs(), clockFuncs())
}

// table is the function table with its index by name and alias, made on first use.
var table struct {
	once  sync.Once
	funcs []Func
	index map[string]*Func
}

func loadTable() {
	table.once.Do(func() {
		table.funcs = functionTable()
		table.index = make(map[string]*Func, 2*len(table.funcs))
		for i := range table.funcs {
			f := &table.funcs[i]
			table.index[f.Name] = f
			for _, a := range f.Aliases {
				table.index[a] = f
			}
		}
	})
}

// Functions lists the function table, in the order of its areas. The caller does not
// change it.
func Functions() []Func {
	loadTable()
	return table.funcs
}

// LookupFunc finds a function by name or alias, without regard to case.
func LookupFunc(name string) (*Func, bool) {
	loadTable()
	f, ok := table.index[strings.ToLower(name)]
	return f, ok
}

// FunctionNames lists names and aliases of all functions that are not operators, for
// completion and hints.
func FunctionNames() []string {
	var out []string
	for _, f := range Functions() {
		for _, n := range append([]string{f.Name}, f.Aliases...) {
			if c := n[0]; c >= 'a' && c <= 'z' && !strings.Contains(n, " ") {
				out = append(out, n)
			}
		}
	}
	return out
}
