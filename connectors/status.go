package connectors

// Status is how a Reader, Writer or Committer is doing with the other side.
type Status struct {
	// Waiting says what is being waited for, "" when nothing is.
	Waiting string
	// Warnings counts what was read over by option (on.gap = warn), Warning is the
	// newest of them.
	Warnings int64
	Warning  string
}

// Reporter is a Reader, Writer or Committer that tells its Status. Any goroutine may
// call it.
type Reporter interface {
	Status() Status
}
