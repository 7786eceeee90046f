package nats

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// header is one header of every message of a sink.
type header struct {
	name  string
	value template
}

// parseHeaders reads "Name: value, Name: value".
func parseHeaders(s string) ([]header, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	var out []header
	for _, f := range strings.Split(s, ",") {
		name, value, ok := strings.Cut(f, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t\r\n") {
			return nil, sqlerr.New(sqlerr.CodeOption, 0, "\"headers\" has %q, which is not \"Name: value\"", strings.TrimSpace(f))
		}
		if strings.HasPrefix(strings.ToLower(name), "nats-") || strings.EqualFold(name, markerHeader) {
			return nil, sqlerr.New(sqlerr.CodeOption, 0, "header %q belongs to the server", name)
		}
		t, err := parseTemplate(strings.TrimSpace(value))
		if err != nil {
			return nil, err
		}
		out = append(out, header{name: name, value: t})
	}
	return out, nil
}
