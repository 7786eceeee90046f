package engine

import "testing"

func TestPasswordInURL(t *testing.T) {
	for text, want := range map[string]bool{
		"postgres://me@host/db":                   false,
		"postgres://me:pw@host/db":                true,
		"postgres://host:5432/db":                 false,
		"nats://u:p@h:4222":                       true,
		"nats://localhost:4222":                   false,
		"host=h user=me dbname=x":                 false,
		"host=h password='a b' user=me":           true,
		"host=h PASSWORD = x":                     true,
		"postgres://[::1]:5432/db?sslmode=prefer": false,
		"postgres://me@h/db?password=x":           true,
	} {
		if got := inURL.MatchString(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
