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
	closed   bool
	queries  sync.WaitGroup // running SELECTs
	starts   sync.WaitGroup // jobs being started
}

func errClosed() error { return sqlerr.New(sqlerr.CodeCancelled, 0, "the engine is closed") }

// add files the job that start gives under its name, which no other running job may
// have; "" takes the first of job-1, job-2 … that is free. The name is taken while start
// runs.
func (r *registry) add(name string, start func(name string) (*Job, error)) (*Job, error) {
	name, err := r.take(name)
	if err != nil {
		return nil, err
	}
	defer r.starts.Done()
	j, err := start(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.starting, name)
	if err != nil {
		return nil, err
	}
	r.jobs[name] = j
	return j, nil
}

func (r *registry) take(name string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jobs == nil {
		r.jobs, r.starting = make(map[string]*Job), make(map[string]bool)
	}
	for n := 1; name == ""; n++ {
		if free := fmt.Sprintf("job-%d", n); r.jobs[free] == nil && !r.starting[free] {
			name = free
		}
	}
	old := r.jobs[name]
	switch {
	case r.closed:
		return "", errClosed()
	case r.starting[name] || old != nil && old.Running():
		return "", sqlerr.New(sqlerr.CodeDuplicateTable, 0, "job %q is running", name).
			WithHint("Stop it with STOP JOB, or give this one another name with SET 'job.name' = '…'.")
	}
	r.starting[name] = true
	r.starts.Add(1)
	return name, nil
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
