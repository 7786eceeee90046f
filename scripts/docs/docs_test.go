package main

import "testing"

// TestPagesAreFresh fails when a table in the code changed and the page did not.
func TestPagesAreFresh(t *testing.T) {
	stale, err := run("../..", true)
	if err != nil {
		t.Fatal(err)
	}
	if len(stale) > 0 {
		t.Fatalf("stale: %v; run make docs", stale)
	}
}
