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
	// RowsIn counts rows read from sources, RowsOut rows given to sinks, Late rows
	// dropped as late, Failed rows that on.error kept from the result.
	RowsIn, RowsOut, Late, Failed int64
}

func statusOf(j *runtime.Job, p *plan.Plan) Status {
	s := Status{Status: j.Status(), State: "running"}
	for _, n := range s.Nodes {
		switch x := p.Nodes[n.Node]; {
		case x.Source != nil || x.Values != nil:
			s.RowsIn += n.In
		case x.Sink != nil:
			s.RowsOut += n.In
		}
		s.Late += n.Late
		for _, k := range n.Errors {
			s.Failed += k
		}
	}
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
	return []string{j.Name, st.State, fmt.Sprint(st.RowsIn), fmt.Sprint(st.RowsOut), fmt.Sprint(st.Late),
		fmt.Sprint(st.Failed), fmt.Sprint(st.Epoch), fmt.Sprint(st.Restarts), fmt.Sprint(st.Memory.Sum()), stamp(j.Started.UnixMicro())}
}
