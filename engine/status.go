package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/planner/plan"
)

// Status is how a job or query is doing: the runtime's figures by node, and their sums.
type Status struct {
	runtime.Status
	// State is "running", "waiting", "finished", "stopped", "cancelled" or "failed".
	State string
	Counts
}

// Counts says what became of a job's rows, across restarts. Each row that is not in the
// result, nor filtered out, is in one of Late, Broken and DeadLetters.
type Counts struct {
	// RowsIn are rows that sources have read and that were not broken there.
	RowsIn int64
	// RowsOut are rows that the tables of INSERT have taken and not refused; both halves
	// of an update count.
	RowsOut int64
	// Late are rows dropped because all their windows had fired.
	Late int64
	// PartlyLate are rows in the result that some of their windows lack.
	PartlyLate int64
	// Broken are rows dropped by on.error = skip: at a source, in an expression, refused
	// by a target.
	Broken int64
	// DeadLetters are broken and late rows that the tables of dead letters have taken.
	DeadLetters int64
}

// countsOf sums up the counters of a plan's nodes.
func countsOf(p *plan.Plan, nodes []runtime.NodeStatus) Counts {
	var c Counts
	for _, n := range nodes {
		switch x := p.Nodes[n.Node]; {
		case x.Source != nil || x.Values != nil:
			c.RowsIn += n.In
		case x.Sink != nil && p.TakesDeadLetters(x):
			c.DeadLetters += n.Out
		case x.Sink != nil:
			c.RowsOut += n.Out
		}
		c.Late += n.Late
		c.PartlyLate += n.PartlyLate
		for _, k := range n.Errors {
			c.Broken += k
		}
	}
	return c
}

func statusOf(j *runtime.Job, p *plan.Plan) Status {
	s := Status{Status: j.Status(), State: "running"}
	s.Counts = countsOf(p, s.Nodes)
	select {
	case <-j.Done():
		switch err := j.Wait(); {
		case errors.Is(err, context.Canceled):
			s.State = "cancelled"
		case err != nil:
			s.State = "failed"
		case j.Stopped():
			s.State = "stopped"
		default:
			s.State = "finished"
		}
	default:
		if s.Stall != "" {
			s.State = "waiting"
		}
	}
	return s
}

// Status tells how the job is doing.
func (j *Job) Status() Status { return statusOf(j.run, j.Plan) }

func (j *Job) row() []string {
	st := j.Status()
	why := st.Stall
	if st.State == "failed" {
		why = j.Wait().Error()
	}
	return []string{j.Name, st.State, fmt.Sprint(st.RowsIn), fmt.Sprint(st.RowsOut), fmt.Sprint(st.Late), fmt.Sprint(st.PartlyLate),
		fmt.Sprint(st.Broken), fmt.Sprint(st.DeadLetters), fmt.Sprint(st.Epoch), fmt.Sprint(st.Restarts), fmt.Sprint(st.Memory.Sum()), stamp(j.Started.UnixMicro()), why}
}
