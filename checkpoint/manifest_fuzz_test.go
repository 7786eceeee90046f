package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// FuzzDecodeManifest gives bytes for a manifest: they are one, which says the same when it
// is written and read again, or CodeCheckpoint, or CodeVersion.
func FuzzDecodeManifest(f *testing.F) {
	b, err := json.Marshal(manifest(3, 7, 5, checkpoint.Blob{Name: "job/j/blob/0000000003-00000000000000000007-1-0-image", Size: 12, Kind: "image"}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	for _, s := range []string{"", "null", "{}", "[]", `{"version":99,"program":"9"}`, `{"epoch":-1}`, `{"epoch":18446744073709551615,"tasks":[{"groups":{}}]}`,
		`{"version":1,"job":"j","attempt":2,"epoch":3,"prev":2,"plan":{"a":1e400},"tasks":[{"node":1,"blobs":[{"name":"b","size":-1}],"splits":[{"id":"0","position":"x"}]}],"sinks":[{"tokens":["AQ=="],"rows":[{}]}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := checkpoint.DecodeManifest(data)
		if err != nil {
			if c := sqlerr.CodeOf(err); m != nil || c != sqlerr.CodeCheckpoint && c != sqlerr.CodeVersion {
				t.Fatalf("got %v with error %v", m, err)
			}
			return
		}
		checkpoint.Blobs(m)
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		back, err := checkpoint.DecodeManifest(again)
		if err != nil {
			t.Fatalf("written again: %v\n%s", err, again)
		}
		twice, err := json.Marshal(back)
		if err != nil || !bytes.Equal(again, twice) {
			t.Fatalf("%s\nbecomes\n%s (%v)", again, twice, err)
		}
	})
}
