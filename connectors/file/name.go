package file

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/stream"
)

// Files that are not visible yet start with a dot. An open one is being written; a
// sealed one is whole and waits for its commit:
//
//	.streamsql~<job>~<attempt>~<epoch or "open">~<table>~<subtask>~<number>
const hiddenPrefix = ".streamsql~"

const openMark = "open"

// hidden is the name of a file that is not visible yet; epoch 0 is an open one.
type hidden struct {
	job     string
	attempt uint64
	epoch   stream.Epoch
	table   string
	subtask int
	number  int
}

func (h hidden) String() string {
	epoch := openMark
	if h.epoch > 0 {
		epoch = strconv.FormatUint(uint64(h.epoch), 10)
	}
	return fmt.Sprintf("%s%s~%d~%s~%s~%d~%d", hiddenPrefix, plain(h.job), h.attempt, epoch, plain(h.table), h.subtask, h.number)
}

// visible is the name under which the file is seen: table, job, epoch, subtask, number.
// The attempt is part of it because a file of an epoch that was given up must not stand
// for another.
func (h hidden) visible(ending string) string {
	job := plain(h.job)
	return fmt.Sprintf("%s-%s-%010d-%d-%03d-%03d%s", plain(h.table), job[:min(8, len(job))], h.epoch, h.attempt, h.subtask, h.number, ending)
}

func parseHidden(name string) (h hidden, ok bool) {
	rest, ok := strings.CutPrefix(name, hiddenPrefix)
	f := strings.Split(rest, "~")
	if !ok || len(f) != 6 {
		return h, false
	}
	h.job, h.table = f[0], f[3]
	var err error
	if h.attempt, err = strconv.ParseUint(f[1], 10, 64); err != nil {
		return h, false
	}
	if f[2] != openMark {
		e, err := strconv.ParseUint(f[2], 10, 64)
		if err != nil || e == 0 {
			return h, false
		}
		h.epoch = stream.Epoch(e)
	}
	if h.subtask, err = strconv.Atoi(f[4]); err != nil {
		return h, false
	}
	h.number, err = strconv.Atoi(f[5])
	return h, err == nil
}

// plain keeps letters, digits, dots, dashes and underscores of a name.
func plain(s string) string {
	out := []byte(s)
	for i, c := range out {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '-', c == '.' && i > 0:
		default:
			out[i] = '_'
		}
	}
	return string(out)
}
