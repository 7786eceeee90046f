package parser

import (
	"fmt"
	"reflect"
	"strings"
)

// dump prints a node as a compact s-expression: operators in front, names, literals
// and types as they are spelt, other nodes as (Type field:value …) without zero
// fields and spans.
func dump(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case Name:
		return quoteName(v)
	case *Name:
		return quoteName(*v)
	case QualifiedName:
		return dumpNames(v.Parts)
	case *ColumnRef:
		return dumpNames(v.Parts)
	case *NumberLit:
		return v.Text
	case *StringLit:
		return QuoteString(v.Value)
	case *BoolLit:
		return fmt.Sprint(v.Value)
	case *NullLit:
		return "null"
	case *TypedLit:
		return v.Type.String() + QuoteString(v.Value)
	case *IntervalLit:
		return fmt.Sprintf("interval(%d,%d,%d)", v.Value.Months, v.Value.Days, v.Value.Micros)
	case TypeName:
		return v.String()
	case *TypeName:
		return v.String()
	case *UnaryExpr:
		return "(" + strings.ToLower(v.Op.String()) + " " + dump(v.X) + ")"
	case *BinaryExpr:
		return "(" + strings.ToLower(v.Op.String()) + " " + dump(v.L) + " " + dump(v.R) + ")"
	case *CastExpr:
		if !v.Try {
			return "(cast " + dump(v.X) + " " + v.Type.String() + ")"
		}
	case *RowExpr:
		return "(row" + dumpList(reflect.ValueOf(v.Elems)) + ")"
	case *CallExpr:
		return dumpCall(v)
	case SelectItem:
		if v.Alias != nil {
			return "(as " + dump(v.Expr) + " " + dump(v.Alias) + ")"
		}
		return dump(v.Expr)
	case *Count:
		return fmt.Sprint(v.N)
	case StringArg:
		return QuoteString(v.Value)
	case Option:
		return v.Key + "=" + QuoteString(v.Value)
	}
	return dumpStruct(reflect.ValueOf(v))
}

func dumpNames(parts []Name) string {
	var s []string
	for _, p := range parts {
		s = append(s, quoteName(p))
	}
	return strings.Join(s, ".")
}

func dumpCall(c *CallExpr) string {
	rest := *c
	rest.Span, rest.Name, rest.Args = Span{}, nil, nil
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
		return QuoteString(v.String())
	}
	return fmt.Sprint(v.Interface())
}

// enumNames spells the enumerations of the tree.
func enumName(v reflect.Value) (string, bool) {
	pick := func(names ...string) (string, bool) { return names[v.Uint()], true }
	switch v.Interface().(type) {
	case BinaryOp:
		return v.Interface().(BinaryOp).String(), true
	case IsTest:
		return pick("null", "true", "false", "unknown")
	case JoinKind:
		return pick("inner", "left", "right", "full", "cross")
	case SetOpKind:
		return pick("union", "intersect", "except")
	case NullsOrder:
		return pick("default", "first", "last")
	case GroupKind:
		return pick("exprs", "rollup", "cube", "sets")
	case FrameMode:
		return pick("rows", "range")
	case BoundKind:
		return pick("unbounded-preceding", "preceding", "current", "following", "unbounded-following")
	case WindowKind:
		return pick("tumble", "hop", "cumulate", "session")
	case EmitMode:
		return pick("changes", "on-close", "every")
	case TableKind:
		return pick("table", "source", "stream", "sink")
	case ExplainFormat:
		return pick("text", "json", "dot", "mermaid")
	case ShowKind:
		return pick("tables", "views", "jobs", "functions", "connectors", "savepoints", "checkpoints", "settings", "create-table")
	case ObjectKind:
		return pick("table", "source", "stream", "view", "materialized-view", "sink")
	case JobAction:
		return pick("stop", "cancel", "pause", "resume")
	case JSONBehaviour:
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
