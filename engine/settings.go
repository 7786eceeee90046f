package engine

import (
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// settingType says how a setting's text is read.
type settingType string

const (
	settingName     settingType = "name"
	settingInt      settingType = "integer"
	settingDuration settingType = "duration"
	settingEnum     settingType = "enum"
	settingZone     settingType = "time zone"
)

// Setting is one key of SET.
type Setting struct {
	Name    string
	Type    settingType
	Default string
	Enum    []string // of settingEnum: what works today
	Later   []string // of settingEnum: promised values that are refused as not supported yet
	Min     int64    // of settingInt
	Doc     string
}

// Settings lists every key of SET by name.
func Settings() []Setting {
	return []Setting{
		{Name: "checkpoint.interval", Type: settingDuration, Default: "1s", Doc: "time between checkpoints; none is cut when nothing moved"},
		{Name: "checkpoint.max-pending-commits", Type: settingInt, Default: "1", Min: 1, Doc: "complete checkpoints that may wait for their sinks before the next one waits"},
		{Name: "checkpoint.min-pause", Type: settingDuration, Default: "0s", Doc: "shortest time between the end of a checkpoint and the next"},
		{Name: "checkpoint.mode", Type: settingEnum, Default: "exactly_once", Enum: []string{"exactly_once"}, Later: []string{"at_least_once"}, Doc: "whether barriers are aligned"},
		{Name: "checkpoint.retained", Type: settingInt, Default: "3", Min: 1, Doc: "number of complete checkpoints kept"},
		{Name: "checkpoint.storage", Type: settingEnum, Default: "directory", Enum: []string{"directory"}, Later: []string{"memory", "nats", "s3"}, Doc: "where checkpoints lie"},
		{Name: "checkpoint.timeout", Type: settingDuration, Default: "10m", Doc: "a checkpoint that takes longer is given up"},
		{Name: "checkpoint.tolerable-failures", Type: settingInt, Default: "10", Min: -1, Doc: "checkpoints that may fail in a row before the job restarts; -1 for any number"},
		{Name: "checkpoint.unaligned", Type: settingEnum, Default: "false", Enum: []string{"false"}, Later: []string{"true"}, Doc: "let barriers overtake rows"},
		{Name: "job.name", Type: settingName, Doc: "the job's name; the file's name when not set"},
		{Name: "on.error", Type: settingEnum, Default: "fail", Enum: []string{"fail", "skip", "dead-letter"}, Doc: "what happens to a broken row, when its table does not say"},
		{Name: "parallelism", Type: settingInt, Default: "0", Min: 0, Doc: "subtasks of what can be split; 0 is the number of CPUs"},
		{Name: "restart.attempts", Type: settingInt, Default: "-1", Min: -1, Doc: "restarts after failures of other systems before the job gives up; -1 for any number"},
		{Name: "state.backend", Type: settingEnum, Default: "memory", Enum: []string{"memory"}, Later: []string{"disk"}, Doc: "where keyed state lives"},
		{Name: "timezone", Type: settingZone, Default: "UTC", Doc: "zone of TIMESTAMP WITH TIME ZONE in text; others than UTC are not supported yet"},
		{Name: "watermark.idle-timeout", Type: settingDuration, Default: "1m", Doc: "a split without rows for so long no longer holds back time; 0 for never"},
	}
}

// maxName bounds a job's name, escaped: it is a part of file names.
const maxName = 200

func findSetting(name string) (Setting, bool) {
	all := Settings()
	i := sort.Search(len(all), func(i int) bool { return all[i].Name >= name })
	if i < len(all) && all[i].Name == name {
		return all[i], true
	}
	return Setting{}, false
}

// settings are the values that SET changed.
type settings map[string]string

// set checks and stores one value. keyPos and valuePos are where SQL text has them.
func (s settings) set(key, value string, keyPos, valuePos sqlerr.Pos) error {
	d, ok := findSetting(key)
	if !ok {
		var names []string
		for _, x := range Settings() {
			names = append(names, x.Name)
		}
		e := sqlerr.New(sqlerr.CodeUndefinedObject, keyPos, "there is no setting %q", key)
		if n := sqlerr.Nearest(key, names); n != "" {
			return e.WithHint("did you mean %q?", n)
		}
		return e.WithHint("SHOW SETTINGS lists them.")
	}
	bad := func(want string) error {
		return sqlerr.New(sqlerr.CodeInvalidParameter, valuePos, "setting %q must be %s, not %q", key, want, value)
	}
	switch d.Type {
	case settingName:
		if len(url.PathEscape(value)) > maxName || strings.ContainsFunc(value, unicode.IsControl) {
			return bad("a name without control characters that is not too long")
		}
	case settingInt:
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < d.Min {
			return bad("a whole number of at least " + strconv.FormatInt(d.Min, 10))
		}
	case settingDuration:
		if _, err := types.ParseDuration(value); err != nil {
			return bad(`a duration like "500ms", "10s" or "1 minute"`)
		}
	case settingZone:
		if _, err := time.LoadLocation(value); err != nil || value == "Local" || value == "" {
			return bad(`a time zone like "UTC" or "Europe/Berlin"`)
		}
		if value != d.Default {
			return sqlerr.NotSupported(valuePos, "setting \""+key+"\" = '"+value+"'").
				WithHint("Times are in UTC; write x AT TIME ZONE '%s' where a local time is wanted.", value)
		}
	case settingEnum:
		for _, l := range d.Later {
			if value == l {
				return sqlerr.NotSupported(valuePos, "setting \""+key+"\" = '"+value+"'")
			}
		}
		known := false
		for _, e := range d.Enum {
			known = known || e == value
		}
		if !known {
			return bad("one of " + strings.Join(d.Enum, ", "))
		}
	}
	s[key] = value
	return nil
}

// get returns the value of key, its default when it was not set.
func (s settings) get(key string) string {
	if v, ok := s[key]; ok {
		return v
	}
	d, _ := findSetting(key)
	return d.Default
}

func (s settings) int(key string) int {
	n, _ := strconv.Atoi(s.get(key))
	return n
}

func (s settings) micros(key string) int64 {
	d, _ := types.ParseDuration(s.get(key))
	return d.Microseconds()
}

func (s settings) clone() settings {
	out := make(settings, len(s))
	for k, v := range s {
		out[k] = v
	}
	return out
}

// checkpoints gives the settings checkpoint.* as the protocol wants them.
func (s settings) checkpoints() checkpoint.Settings {
	return checkpoint.Settings{
		Interval:          s.micros("checkpoint.interval"),
		MinPause:          s.micros("checkpoint.min-pause"),
		Timeout:           s.micros("checkpoint.timeout"),
		MaxPendingCommits: s.int("checkpoint.max-pending-commits"),
		TolerableFailures: s.int("checkpoint.tolerable-failures"),
		Retained:          s.int("checkpoint.retained"),
	}
}
