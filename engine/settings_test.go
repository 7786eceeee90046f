package engine

import (
	"slices"
	"testing"
)

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
