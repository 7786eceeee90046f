package checkpoint

import (
	"fmt"
	"net/url"
	"path"
	"strconv"

	"github.com/streamsql/streamsql/internal/stream"
)

// Objects of a job:
//
//	job/<id>/attempt/<n>       one per start, never deleted
//	job/<id>/manifest/<epoch>  the checkpoints
//	job/<id>/tomb/<epoch>      "this manifest was collected", so that its epoch is never used again
//	job/<id>/blob/<attempt>-…  keyed state and kept rows
//	name/<name>/<seq>          the job id that a name means; the highest seq counts
//
// Numbers have leading zeros, so that the order of names is that of numbers.

func jobDir(job string) string { return "job/" + job + "/" }

// AttemptName is the name of attempt n's object.
func AttemptName(job string, n uint64) string { return fmt.Sprintf("%sattempt/%010d", jobDir(job), n) }

// ManifestName is the name of an epoch's manifest.
func ManifestName(job string, e stream.Epoch) string {
	return fmt.Sprintf("%smanifest/%020d", jobDir(job), e)
}

func tombName(job string, e stream.Epoch) string { return fmt.Sprintf("%stomb/%020d", jobDir(job), e) }

// BlobPrefix is the start of the names of all blobs that an attempt's task writes
// for an epoch; what follows is the task's choice.
func BlobPrefix(job string, attempt uint64, e stream.Epoch, node, subtask int) string {
	return fmt.Sprintf("%sblob/%010d-%020d-%d-%d-", jobDir(job), attempt, e, node, subtask)
}

func nameDir(name string) string { return "name/" + url.PathEscape(name) + "/" }

// number reads the number that ends an object's name.
func number(name string) (uint64, bool) {
	n, err := strconv.ParseUint(path.Base(name), 10, 64)
	return n, err == nil
}
