package parser

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/streamsql/streamsql/parser/tree"
)

// dump prints a node as a compact s-expression: operators in front, names, literals
// and types as they are spelt, other nodes as (Type field:value …) without zero
// fields and spans.
func dump(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case tree.Name:
		return tree.QuoteName(v)
	case *tree.Name:
		return tree.QuoteName(*v)
	case tree.QualifiedName:
		return dumpNames(v.Parts)
	case *tree.ColumnRef:
		return dumpNames(v.Parts)
	case *tree.NumberLit:
		return v.Text
	case *tree.StringLit:
		return tree.QuoteString(v.Value)
	case *tree.BoolLit:
		return fmt.Sprint(v.Value)
	case *tree.NullLit:
		return "null"
	case *tree.TypedLit:
		return v.Type.String() + tree.QuoteString(v.Value)
	case *tree.IntervalLit:
		return fmt.Sprintf("interval(%d,%d,%d)", v.Value.Months, v.Value.Days, v.Value.Micros)
	case tree.TypeName:
		return v.String()
	case *tree.TypeName:
		return v.String()
	case *tree.UnaryExpr:
		return "(" + strings.ToLower(v.Op.String()) + " " + dump(v.X) + ")"
	case *tree.BinaryExpr:
		return "(" + strings.ToLower(v.Op.String()) + " " + dump(v.L) + " " + dump(v.R) + ")"
	case *tree.CastExpr:
		if !v.Try {
			return "(cast " + dump(v.X) + " " + v.Type.String() + ")"
		}
	case *tree.RowExpr:
		return "(row" + dumpList(reflect.ValueOf(v.Elems)) + ")"
	case *tree.CallExpr:
		return dumpCall(v)
	case tree.SelectItem:
		if v.Alias != nil {
			return "(as " + dump(v.Expr) + " " + dump(v.Alias) + ")"
		}
		return dump(v.Expr)
	case *tree.Count:
		return fmt.Sprint(v.N)
	case tree.StringArg:
		return tree.QuoteString(v.Value)
	case tree.Option:
		return v.Key + "=" + tree.QuoteString(v.Value)
	}
	return dumpStruct(reflect.ValueOf(v))
}

func dumpNames(parts []tree.Name) string {
	var s []string
	for _, p := range parts {
		s = append(s, tree.QuoteName(p))
	}
	return strings.Join(s, ".")
}

func dumpCall(c *tree.CallExpr) string {
	rest := *c
	rest.Span, rest.Name, rest.Args = tree.Span{}, nil, nil
	s := "(" + dumpNames(c.Name) + dumpList(reflect.ValueOf(c.Args))
	tail := dumpStruct(reflect.ValueOf(rest))
	return s + strings.TrimSuffix(strings.TrimPrefix(tail, "(CallExpr"), ")") + ")"
}

func dumpList(v reflect.Value) string {
	var b strings.Builder
	for i := 0; i < v.Len(); i++ {
		b.WriteByte(' ')
		b.WriteString(dumpValue(v.Index(i)))
	}
	return b.String()
}

func dumpValue(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Slice:
		return "[" + strings.TrimSpace(dumpList(v)) + "]"
	case reflect.Interface, reflect.Pointer, reflect.Struct:
		return dump(v.Interface())
	case reflect.String:
		return tree.QuoteString(v.String())
	}
	return fmt.Sprint(v.Interface())
}

// enumNames spells the enumerations of the tree.
func enumName(v reflect.Value) (string, bool) {
	pick := func(names ...string) (string, bool) { return names[v.Uint()], true }
	switch v.Interface().(type) {
	case tree.BinaryOp:
		return v.Interface().(tree.BinaryOp).String(), true
	case tree.IsTest:
		return pick("null", "true", "false", "unknown")
	case tree.JoinKind:
		return pick("inner", "left", "right", "full", "cross")
	case tree.SetOpKind:
		return pick("union", "intersect", "except")
	case tree.NullsOrder:
		return pick("default", "first", "last")
	case tree.GroupKind:
		return pick("exprs", "rollup", "cube", "sets")
	case tree.FrameMode:
		return pick("rows", "range")
	case tree.BoundKind:
		return pick("unbounded-preceding", "preceding", "current", "following", "unbounded-following")
	case tree.WindowKind:
		return pick("tumble", "hop", "cumulate", "session")
	case tree.EmitMode:
		return pick("changes", "on-close", "every")
	case tree.TableKind:
		return pick("table", "source", "stream", "sink")
	case tree.ExplainFormat:
		return pick("text", "json", "dot", "mermaid")
	case tree.ShowKind:
		return pick("tables", "views", "jobs", "functions", "connectors", "savepoints", "checkpoints", "settings", "create-table")
	case tree.ObjectKind:
		return pick("table", "source", "stream", "view", "materialized-view", "sink")
	case tree.JobAction:
		return pick("stop", "cancel", "pause", "resume")
	case tree.JSONBehaviour:
		return pick("unset", "error", "null", "default", "true", "false", "unknown", "empty-array", "empty-object")
	}
	return "", false
}

func dumpStruct(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	t := v.Type()
	var b strings.Builder
	b.WriteString("(" + t.Name())
	for i := 0; i < t.NumField(); i++ {
		f, fv := t.Field(i), v.Field(i)
		enum, isEnum := enumName(fv)
		switch {
		case f.Name == "Span", strings.HasSuffix(f.Name, "Pos"):
		case isEnum && (!fv.IsZero() || f.Name == "Kind" || f.Name == "Mode" || f.Name == "Op" || f.Name == "Test" || f.Name == "Action"):
			b.WriteString(" " + enum)
		case fv.IsZero():
		case fv.Kind() == reflect.Bool:
			b.WriteString(" " + strings.ToLower(f.Name))
		default:
			b.WriteString(" " + strings.ToLower(f.Name) + ":" + dumpValue(fv))
		}
	}
	return b.String() + ")"
}
