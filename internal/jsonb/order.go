package jsonb

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// CompareForms orders two canonical forms as jsonb orders the values.
func CompareForms(a, b []byte) int {
	// jsonb keeps a scalar as an array of one: only an empty array is below it.
	switch x, y := a[0] < kindArray, b[0] < kindArray; {
	case x && b[0] == kindArray:
		return scalarAndArray(b)
	case y && a[0] == kindArray:
		return -scalarAndArray(a)
	}
	c := forms{a, b}
	return c.value()
}

func scalarAndArray(array []byte) int {
	if binary.BigEndian.Uint32(array[1:]) == 0 {
		return 1
	}
	return -1
}

// forms are what is left of two forms that were equal so far.
type forms struct{ a, b []byte }

func (f *forms) value() int {
	kind := f.a[0]
	if c := f.bytes(1); c != 0 {
		return c
	}
	switch kind {
	case kindBool:
		return f.bytes(1)
	case kindNumber:
		return f.number()
	case kindString:
		return f.text()
	case kindArray, kindObject:
		n := binary.BigEndian.Uint32(f.a)
		if c := f.bytes(4); c != 0 {
			return c
		}
		for range n {
			if kind == kindObject {
				if c := f.text(); c != 0 {
					return c
				}
			}
			if c := f.value(); c != 0 {
				return c
			}
		}
	case kindText:
		return bytes.Compare(f.a, f.b)
	}
	return 0
}

// bytes compares the next n bytes.
func (f *forms) bytes(n int) int {
	c := bytes.Compare(f.a[:n], f.b[:n])
	f.a, f.b = f.a[n:], f.b[n:]
	return c
}

func (f *forms) text() int {
	n, m := binary.BigEndian.Uint32(f.a), binary.BigEndian.Uint32(f.b)
	c := bytes.Compare(f.a[4:4+n], f.b[4:4+m])
	f.a, f.b = f.a[4+n:], f.b[4+m:]
	return c
}

func (f *forms) number() int {
	sign := f.a[0]
	if c := f.bytes(1); c != 0 {
		return c
	}
	c := cmp.Compare(binary.BigEndian.Uint64(f.a), binary.BigEndian.Uint64(f.b))
	f.a, f.b = f.a[8:], f.b[8:]
	if digits := f.text(); c == 0 {
		c = digits
	}
	if sign == 0 {
		return -c
	}
	return c
}
