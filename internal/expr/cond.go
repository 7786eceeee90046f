package expr

import (
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func condFuncs() []Func {
	return []Func{
		{
			Name: "coalesce", Forms: []string{"coalesce(any, …)"}, Aliases: []string{"ifnull"}, Doc: "The first argument that is not NULL; later ones are not evaluated.",
			Example: "COALESCE(NULL, 2, 3)", ExampleResult: "2", PG: "COALESCE(NULL, 2, 3)",
			lower: func(args []*Expr) (*Expr, error) { return NewCoalesce(args, 0) },
		},
		{
			Name: "nullif", Forms: []string{"nullif(any, any)"}, Doc: "NULL when both arguments are equal, else the first.",
			Example: "NULLIF(1, 1)", ExampleResult: "NULL", PG: "NULLIF(1, 1)",
			lower: lowerNullIf,
		},
		{
			Name: "if", Forms: []string{"if(boolean, any, any)"}, Doc: "The second argument when the first is true, else the third.",
			Example: "IF(1 > 2, 'yes', 'no')", ExampleResult: "no", PG: "CASE WHEN 1 > 2 THEN 'yes' ELSE 'no' END",
			lower: func(args []*Expr) (*Expr, error) {
				if len(args) != 3 {
					return nil, errNoSignature
				}
				return NewCase(args[:1], args[1:2], args[2], args[0].Pos)
			},
		},
		{
			Name: "greatest", Forms: []string{"greatest(any, …)"}, Doc: "The largest argument; NULLs do not count.",
			Example: "GREATEST(1, NULL, 3)", ExampleResult: "3", PG: "GREATEST(1, NULL, 3)",
			Differs: "Flink gives NULL when any argument is NULL.",
			resolve: resolveExtreme("GREATEST"), kernel: extremeKernel(true),
		},
		{
			Name: "least", Forms: []string{"least(any, …)"}, Doc: "The smallest argument; NULLs do not count.",
			Example: "LEAST(2, 1.5, 3)", ExampleResult: "1.5", PG: "LEAST(2, 1.5, 3)",
			Differs: "Flink gives NULL when any argument is NULL.",
			resolve: resolveExtreme("LEAST"), kernel: extremeKernel(false),
		},
	}
}

func lowerNullIf(args []*Expr) (*Expr, error) {
	if len(args) != 2 {
		return nil, errNoSignature
	}
	x := args[0]
	if x.Type.Kind == types.Unknown {
		to, _ := CommonOf(args)
		var err error
		if x, err = CoerceTo(x, to); err != nil {
			return nil, err
		}
	}
	eq, err := ResolveCall("=", []*Expr{x, args[1]}, x.Pos)
	if err != nil {
		return nil, err
	}
	return NewCase([]*Expr{eq}, []*Expr{NullLit(x.Pos)}, x, x.Pos)
}

func resolveExtreme(name string) func([]*Expr) ([]*Expr, types.Type, error) {
	return func(args []*Expr) ([]*Expr, types.Type, error) {
		if len(args) == 0 {
			return nil, types.Type{}, errNoSignature
		}
		return unify(args, name, args[0].Pos)
	}
}

// extremeKernel picks for each row the argument that is largest or smallest.
func extremeKernel(most bool) func([]Arg, types.Type) impl {
	return func(args []Arg, _ types.Type) impl {
		return impl{run: func(k *kctx, a []*vec.Vector, out *vec.Vector) {
			st := k.node.state(k.frame)
			if cap(st.choice) < k.n {
				st.choice = make([]int32, k.n)
			}
			choice := st.choice[:k.n]
			for i := range choice {
				best := int32(-1)
				for c, v := range a {
					if v.IsNull(i) {
						continue
					}
					if best < 0 || most && vec.CompareValues(a[best], i, v, i) < 0 || !most && vec.CompareValues(v, i, a[best], i) < 0 {
						best = int32(c)
					}
				}
				choice[i] = best
			}
			mergeBranches(out, a, choice, st, k.n)
		}, cost: 5 * len(args)}
	}
}
