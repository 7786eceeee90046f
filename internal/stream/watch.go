package stream

import "github.com/streamsql/streamsql/internal/vec"

// Lane is the way from one sending subtask to one receiving subtask of an edge of the
// plan, during one attempt of a job.
type Lane struct {
	Job              string
	Attempt          uint64
	Sender, Receiver int
	// Since is the checkpoint that the attempt began with, 0 for none, and SinceAttempt the
	// attempt that made it; 0 when that had finished, for what its end let go comes again.
	// Of a savepoint, or of another plan, only the attempt is known.
	Since        Epoch
	SinceAttempt uint64
}

// Watch sees what goes over a lane, in order, before the receiver does. The sender's
// goroutine calls it; batches are to be left as they are. An error ends the attempt.
type Watch interface {
	Batch(b *vec.Batch) error
	// Barrier closes an epoch on the lane; End says that nothing more comes, barriers
	// aside.
	Barrier(e Epoch) error
	End() error
}
