package parser

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser/tree"
)

// scalarTypes maps the single-word type names to their types without parameters.
var scalarTypes = map[string]types.Type{
	"BOOLEAN": types.TBool, "BOOL": types.TBool,
	"SMALLINT": types.TSmallInt, "INT2": types.TSmallInt, "TINYINT": types.TSmallInt,
	"INT": types.TInt, "INTEGER": types.TInt, "INT4": types.TInt,
	"BIGINT": types.TBigInt, "INT8": types.TBigInt,
	"REAL": types.TReal, "FLOAT4": types.TReal,
	"FLOAT": types.TDouble, "DOUBLE": types.TDouble, "FLOAT8": types.TDouble,
	"DECIMAL": {Kind: types.Decimal}, "NUMERIC": {Kind: types.Decimal}, "DEC": {Kind: types.Decimal},
	"VARCHAR": types.TText, "CHAR": types.TText, "CHARACTER": types.TText, "TEXT": types.TText, "STRING": types.TText,
	"BYTES": types.TBytes, "VARBINARY": types.TBytes, "BYTEA": types.TBytes, "BINARY": types.TBytes,
	"DATE": types.TDate, "TIME": types.TTime,
	"TIMESTAMP": types.TTimestamp(6), "DATETIME": types.TTimestamp(6),
	"TIMESTAMPTZ": types.TTimestampTZ(6), "TIMESTAMP_LTZ": types.TTimestampTZ(6),
	"INTERVAL": types.TInterval,
	"JSON":     types.TJSON, "JSONB": types.TJSON,
	"UUID": types.TUUID,
}

// typeNames are the names offered as a hint.
var typeNames = strings.Fields(`BOOLEAN SMALLINT INT INTEGER BIGINT REAL DOUBLE DECIMAL NUMERIC VARCHAR TEXT
	STRING BYTES DATE TIME TIMESTAMP TIMESTAMPTZ TIMESTAMP_LTZ INTERVAL JSON UUID ARRAY ROW MAP`)

// startsType reports that the current token is the first word of a type name.
func (p *parser) startsType() bool {
	t := p.cur()
	if t.kind != tWord {
		return false
	}
	_, ok := scalarTypes[t.up]
	return ok || p.isWord("ARRAY") || p.isWord("MAP") || p.isWord("ROW")
}

// typeName reads a type.
func (p *parser) typeName() (tree.TypeName, error) {
	if err := p.enter(); err != nil {
		return tree.TypeName{}, err
	}
	defer p.leave()
	lo := p.i
	t, err := p.baseType()
	if err != nil {
		return t, err
	}
	t.Span, t.Spelling = p.span(lo, p.i), p.toks[lo].up
	for p.isOp("[") && p.peekOp(1, "]") || p.isOp("[") && p.peek(1).kind == tNumber && p.peekOp(2, "]") || p.isWord("ARRAY") {
		if p.isOp("[") {
			p.i = p.cur().match
		}
		p.i++
		if p.depth++; p.depth > MaxDepth {
			return t, sqlerr.New(sqlerr.CodeTooComplex, p.pos(p.i), "the type nests deeper than %d levels", MaxDepth)
		}
		defer p.leave()
		elem := t
		t = tree.TypeName{Span: p.span(lo, p.i), Shape: tree.ArrayType, Elem: &elem}
	}
	return t, nil
}

func (p *parser) baseType() (tree.TypeName, error) {
	t := p.cur()
	if t.kind != tWord {
		return tree.TypeName{}, p.unexpected().expecting("a type")
	}
	switch t.up {
	case "ARRAY", "MAP", "ROW":
		return p.nestedType()
	}
	typ, ok := scalarTypes[t.up]
	if !ok {
		if reservedWords[t.up] {
			return tree.TypeName{}, p.unexpected().expecting("a type")
		}
		err := sqlerr.New(sqlerr.CodeUndefinedObject, p.pos(p.i), `type "%s" does not exist`, t.val)
		if near := sqlerr.Nearest(t.val, typeNames); near != "" {
			err.Hint = `Did you mean "` + near + `"?`
		}
		return tree.TypeName{}, err
	}
	up := t.up
	p.i++
	switch up {
	case "DOUBLE":
		p.word("PRECISION")
	case "CHAR", "CHARACTER", "VARCHAR":
		if up != "VARCHAR" && !p.word("VARYING") {
			return tree.TypeName{}, sqlerr.NotSupported(p.pos(p.i-1), up).
				WithDetail("Values of CHAR(n) are filled with blanks, which do not count when they are compared.").
				WithHint("Write VARCHAR(n) or TEXT; a target's column of type character(n) takes them and fills them itself.")
		}
		n, ok, err := p.typeParam(10485760, 1)
		if err != nil {
			return tree.TypeName{}, err
		}
		if ok {
			typ.Length = int32(n)
		}
	case "BINARY", "VARBINARY":
		if _, _, err := p.typeParam(10485760, 1); err != nil {
			return tree.TypeName{}, err
		}
	case "FLOAT":
		n, ok, err := p.typeParam(53, 1)
		if err != nil {
			return tree.TypeName{}, err
		}
		if ok && n <= 24 {
			typ = types.TReal
		}
	case "DECIMAL", "NUMERIC", "DEC":
		return p.decimalType()
	case "TIME", "TIMESTAMP", "DATETIME", "TIMESTAMPTZ", "TIMESTAMP_LTZ":
		return p.timeType(up, typ)
	}
	return tree.TypeName{Type: typ}, nil
}

// typeParam reads (n); ok is false without brackets.
func (p *parser) typeParam(limit, least int) (n int, ok bool, err error) {
	if !p.op("(") {
		return 0, false, nil
	}
	if n, err = p.smallInt(limit, least); err != nil {
		return 0, false, err
	}
	return n, true, p.expectOp(")")
}

func (p *parser) smallInt(limit, least int) (int, error) {
	t := p.cur()
	if t.kind != tNumber {
		return 0, p.unexpected().expecting("a number")
	}
	n, err := strconv.Atoi(t.val)
	if err != nil || n > limit || n < least {
		return 0, sqlerr.New(sqlerr.CodeInvalidParameter, p.pos(p.i), "%s is out of range: it must be between %d and %d", t.val, least, limit)
	}
	p.i++
	return n, nil
}

func (p *parser) decimalType() (tree.TypeName, error) {
	typ := types.Type{Kind: types.Decimal}
	if !p.op("(") {
		return tree.TypeName{Type: typ}, nil
	}
	prec, err := p.smallInt(types.MaxPrecision, 1)
	if err != nil {
		return tree.TypeName{}, err
	}
	scale := 0
	if p.op(",") {
		if scale, err = p.smallInt(prec, 0); err != nil {
			return tree.TypeName{}, err
		}
	}
	return tree.TypeName{Type: types.TDecimal(prec, scale)}, p.expectOp(")")
}

// timeType reads (p) [WITH|WITHOUT [LOCAL] TIME ZONE]. Without (p) the precision is
// 6, as in PostgreSQL.
func (p *parser) timeType(up string, typ types.Type) (tree.TypeName, error) {
	n, ok, err := p.typeParam(9, 0)
	if err != nil {
		return tree.TypeName{}, err
	}
	if ok {
		if n > 6 {
			return tree.TypeName{}, sqlerr.NotSupported(p.pos(p.i-2), "a precision finer than microseconds").
				WithHint("Use a precision of at most 6.")
		}
		typ.Precision = uint8(n)
	}
	if up != "TIME" && up != "TIMESTAMP" {
		return tree.TypeName{Type: typ}, nil
	}
	switch {
	case p.word("WITHOUT", "TIME", "ZONE"):
	case p.isWord("WITH", "TIME", "ZONE") || p.isWord("WITH", "LOCAL", "TIME", "ZONE"):
		if up == "TIME" {
			return tree.TypeName{}, sqlerr.NotSupported(p.pos(p.i), "TIME WITH TIME ZONE")
		}
		p.i++
		p.word("LOCAL")
		p.i += 2
		typ.Kind = types.TimestampTZ
	}
	return tree.TypeName{Type: typ}, nil
}

// nestedType reads ARRAY<T>, MAP<K, V> and ROW<name type, …>.
func (p *parser) nestedType() (tree.TypeName, error) {
	lo := p.i
	up := p.cur().up
	p.i++
	if up == "ROW" && p.isOp("(") {
		p.i++
		return p.rowType(lo, ")")
	}
	if err := p.expectOp("<"); err != nil {
		return tree.TypeName{}, err
	}
	switch up {
	case "ROW":
		return p.rowType(lo, ">")
	case "MAP":
		key, err := p.typeName()
		if err != nil {
			return tree.TypeName{}, err
		}
		if err := p.expectOp(","); err != nil {
			return tree.TypeName{}, err
		}
		elem, err := p.typeName()
		if err != nil {
			return tree.TypeName{}, err
		}
		return tree.TypeName{Shape: tree.MapType, Key: &key, Elem: &elem}, p.expectOp(">")
	}
	elem, err := p.typeName()
	if err != nil {
		return tree.TypeName{}, err
	}
	return tree.TypeName{Shape: tree.ArrayType, Elem: &elem}, p.expectOp(">")
}

func (p *parser) rowType(lo int, closing string) (tree.TypeName, error) {
	t := tree.TypeName{Shape: tree.RowType}
	for {
		n, err := p.name("a field name")
		if err != nil {
			return t, err
		}
		ft, err := p.typeName()
		if err != nil {
			return t, err
		}
		t.Fields = append(t.Fields, tree.RowField{Name: n, Type: ft})
		if p.op(",") {
			continue
		}
		t.Span = p.span(lo, p.i)
		return t, p.expectOp(closing)
	}
}
