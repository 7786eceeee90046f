package engine

import (
	"slices"
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "500ms": 500 * time.Millisecond, "1m30s": 90 * time.Second, " 5 seconds ": 5 * time.Second, "1 min": time.Minute,
		"1.5 HOURS": 90 * time.Minute, "2 days": 48 * time.Hour, "250 ms": 250 * time.Millisecond,
	} {
		if d, err := parseDuration(text); err != nil || d != want {
			t.Errorf("%q is %v, %v; want %v", text, d, err, want)
		}
	}
	for _, text := range []string{"", "5", "-1s", "-5 seconds", "NaN s", "Inf s", "1e300 days", "5 fortnights", "five seconds", "1 s s"} {
		if d, err := parseDuration(text); err == nil {
			t.Errorf("%q is %v", text, d)
		}
	}
}

// TestSettings: the list is in order, as findSetting wants it, and every default is a
// value that SET takes.
func TestSettings(t *testing.T) {
	all := Settings()
	if !slices.IsSortedFunc(all, func(a, b Setting) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}) {
		t.Error("the settings are not in order")
	}
	for _, d := range all {
		s := settings{}
		if err := s.set(d.Name, d.Default, 0, 0); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
		for _, v := range d.Later {
			if err := s.set(d.Name, v, 0, 0); err == nil {
				t.Errorf("%s = %s is taken", d.Name, v)
			}
		}
		if d.Doc == "" {
			t.Errorf("%s says nothing", d.Name)
		}
	}
	for _, name := range []string{"\n", "a\x00b", string(make([]byte, 300))} {
		if err := (settings{}).set("job.name", name, 0, 0); err == nil {
			t.Errorf("a job may be called %q", name)
		}
	}
}
