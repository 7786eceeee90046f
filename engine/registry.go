package engine

import (
	"fmt"
	"sort"
	"sync"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// registry is the jobs of an engine by name, those that have ended among them.
type registry struct {
	mu       sync.Mutex
	jobs     map[string]*Job
	starting map[string]bool
	unnamed  int
	closed   bool
	queries  sync.WaitGroup // running SELECTs
	starts   sync.WaitGroup // jobs being started
}

func errClosed() error { return sqlerr.New(sqlerr.CodeCancelled, 0, "the engine is closed") }

// add files the job that start gives under its name, which no other running job may
// have. The name is taken while start runs.
func (r *registry) add(name string, start func() (*Job, error)) (*Job, error) {
	r.mu.Lock()
	old := r.jobs[name]
	switch {
	case r.closed:
		r.mu.Unlock()
		return nil, errClosed()
	case r.starting[name] || old != nil && old.Running():
		r.mu.Unlock()
		return nil, sqlerr.New(sqlerr.CodeDuplicateTable, 0, "job %q is running", name).
			WithHint("Stop it with STOP JOB, or give this one another name with SET 'job.name' = '…'.")
	}
	if r.jobs == nil {
		r.jobs, r.starting = make(map[string]*Job), make(map[string]bool)
	}
	r.starting[name] = true
	r.starts.Add(1)
	r.mu.Unlock()
	defer r.starts.Done()
	j, err := start()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.starting, name)
	if err != nil {
		return nil, err
	}
	r.jobs[name] = j
	return j, nil
}

// query counts a SELECT in; done counts it out.
func (r *registry) query() (done func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed()
	}
	r.queries.Add(1)
	return r.queries.Done, nil
}

// newName gives a job without a name one.
func (r *registry) newName() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unnamed++
	return fmt.Sprintf("job-%d", r.unnamed)
}

// close lets no more jobs in and gives those that are; first is false when it was
// called before.
func (r *registry) close() (jobs []*Job, first bool) {
	r.mu.Lock()
	first, r.closed = !r.closed, true
	r.mu.Unlock()
	r.starts.Wait()
	return r.list(), first
}

func (r *registry) find(name string) (*Job, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j, ok := r.jobs[name]
	return j, ok
}

func (r *registry) list() []*Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Job, 0, len(r.jobs))
	for _, j := range r.jobs {
		out = append(out, j)
	}
	sort.Slice(out, func(a, b int) bool { return out[a].Name < out[b].Name })
	return out
}

// Job finds a job of this process by name.
func (e *Engine) Job(name string) (*Job, bool) { return e.jobs.find(name) }

// Jobs lists the jobs of this process by name.
func (e *Engine) Jobs() []*Job { return e.jobs.list() }
