package planner

import (
	"slices"
	"strings"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// checkFormat settles the format of the payloads, and refuses options of others.
func (t *table) checkFormat(formats []format.Format) error {
	name, given := t.common["format"]
	if t.caps.SelfDecoding || t.caps.Transient || t.hasOption("format") || len(formats) == 0 {
		if given {
			return t.noUse("format")
		}
		return t.checkFormatOptions(format.Format{}, formats)
	}
	if !given {
		name = "json"
	}
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
		if f.Name != name {
			continue
		}
		t.format = name
		if err := t.checkFormatOptions(f, formats); err != nil {
			return err
		}
		for _, o := range f.Options {
			if _, given := t.options[o.Name]; !given && o.Default != "" {
				t.options[o.Name] = o.Default
			}
		}
		return t.checkColumns(f)
	}
	o, _ := t.def.Option("format")
	e := sqlerr.New(sqlerr.CodeOption, o.ValuePos, "format %q does not exist", name)
	if near := sqlerr.Nearest(name, names); near != "" {
		return e.WithHint("did you mean %q?", near)
	}
	return e.WithHint("Formats are %s.", strings.Join(names, ", "))
}

func (t *table) noUse(key string) error {
	o, _ := t.def.Option(key)
	return sqlerr.New(sqlerr.CodeOption, o.KeyPos, "connector %q has no use for option %q", t.conn.Name, key)
}

// checkFormatOptions refuses options of formats other than f, which is the table's; the
// zero Format is none.
func (t *table) checkFormatOptions(f format.Format, formats []format.Format) error {
	has := func(f format.Format, key string) bool {
		return slices.ContainsFunc(f.Options, func(o format.Option) bool { return o.Name == key })
	}
	for _, o := range t.def.Options {
		if t.hasOption(o.Key) || has(f, o.Key) {
			continue
		}
		for _, other := range formats {
			switch {
			case !has(other, o.Key):
			case f.Name == "":
				return t.noUse(o.Key)
			default:
				return sqlerr.New(sqlerr.CodeOption, o.KeyPos, "option %q is of format %q, and the table's is %q", o.Key, other.Name, f.Name)
			}
		}
	}
	return nil
}

func (t *table) checkColumns(f format.Format) error {
	if f.Check == nil {
		return nil
	}
	var cols []format.Column
	for _, c := range t.physical() {
		cols = append(cols, format.Column{Field: c.Name, Type: c.Type, NotNull: c.NotNull})
	}
	return t.placed(f.Check(cols, t.options))
}

func formatOption(o format.Option) connectors.Option {
	out := connectors.Option{Name: o.Name, Type: connectors.OptString, Default: o.Default, Enum: o.Enum, Doc: o.Doc}
	if len(o.Enum) > 0 {
		out.Type = connectors.OptEnum
	}
	return out
}
