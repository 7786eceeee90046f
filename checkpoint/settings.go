package checkpoint

// Settings are the settings checkpoint.* of a job. Times are in microseconds.
type Settings struct {
	// Interval between the starts of two checkpoints; default 1 s. None is cut when
	// nothing moved.
	Interval int64
	// MinPause between the end of one and the start of the next; default 0.
	MinPause int64
	// Timeout after which an epoch that is not complete is aborted; default 10 min.
	Timeout int64
	// StopTimeout bounds the wait for sinks after the last checkpoint of a job that was
	// told to stop; default 60 s.
	StopTimeout int64
	// MaxPendingCommits is the number of complete epochs that may wait for their sinks
	// before the next trigger waits too; default 1.
	MaxPendingCommits int
	// TolerableFailures is the number of checkpoints that may fail in a row before the
	// attempt fails; default 10, negative for any number.
	TolerableFailures int
	// Retained is the number of complete checkpoints kept; default 3.
	Retained int
}

// WithDefaults fills in what is zero.
func (s Settings) WithDefaults() Settings {
	if s.Interval == 0 {
		s.Interval = 1e6
	}
	if s.Timeout == 0 {
		s.Timeout = 600e6
	}
	if s.StopTimeout == 0 {
		s.StopTimeout = 60e6
	}
	if s.MaxPendingCommits == 0 {
		s.MaxPendingCommits = 1
	}
	if s.TolerableFailures == 0 {
		s.TolerableFailures = 10
	}
	if s.Retained == 0 {
		s.Retained = 3
	}
	return s
}
