package format

import "github.com/streamsql/streamsql/internal/sqlerr"

var formats = []Format{jsonFormat, csvFormat, rawFormat}

// List gives every format in the order of the reference page.
func List() []Format { return formats }

// Find gives the format of this name; CodeOption with the nearest name as hint when
// there is none.
func Find(name string) (*Format, error) {
	names := make([]string, len(formats))
	for i := range formats {
		if formats[i].Name == name {
			return &formats[i], nil
		}
		names[i] = formats[i].Name
	}
	err := sqlerr.New(sqlerr.CodeOption, 0, "unknown format %q", name)
	if near := sqlerr.Nearest(name, names); near != "" {
		return nil, err.WithHint("Did you mean %q?", near)
	}
	return nil, err
}
