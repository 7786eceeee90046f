package checkpoint

import (
	"errors"
	"fmt"
	"slices"
)

// act does what the coordinator says, in the model, and checks that it may say so.
func (d *drive) act(a Action) error {
	switch a := a.(type) {
	case Inject:
		e := a.Barrier.Epoch
		if e < d.used || e == d.used && len(a.Tasks) > 1 {
			return fmt.Errorf("epoch %d is injected after %d", e, d.used)
		}
		if e > d.used {
			if n := d.c.Pending(); n >= d.settings.MaxPendingCommits {
				return fmt.Errorf("epoch %d starts and %d wait for their sinks", e, n)
			}
			if sent, ended := d.ends(); sent && !ended {
				return fmt.Errorf("epoch %d starts between End and the last seal", e)
			}
			d.used = e
			for _, t := range d.tasks {
				if !t.ended {
					d.sealTask(t, e)
				}
			}
		}
		for _, id := range a.Tasks {
			d.sealTask(d.tasks[id], e)
		}
	case SendEnd:
		for _, id := range a.Tasks {
			if !d.tasks[id].drained {
				return fmt.Errorf("task %v is to end and has rows", id)
			}
			d.tasks[id].endSent = true
		}
	case PutManifest:
		return d.put(a.Manifest)
	case ReadManifest:
		m := d.store[a.Epoch]
		switch {
		case d.fault():
			d.post(ManifestRead{Epoch: a.Epoch, Err: errors.New("away")})
		case m == nil:
			d.post(ManifestRead{Epoch: a.Epoch})
		default:
			d.post(ManifestRead{Epoch: a.Epoch, Found: true, Attempt: m.Attempt})
		}
	case Complete:
		if d.store[a.Epoch] == nil || d.completes[a.Epoch] {
			return fmt.Errorf("epoch %d is complete twice or without manifest", a.Epoch)
		}
		d.completes[a.Epoch] = true
		for _, t := range d.tasks {
			t.from = t.seal[a.Epoch]
		}
	case Abort:
		if d.completes[a.Epoch] {
			return fmt.Errorf("epoch %d is aborted and was complete", a.Epoch)
		}
		for _, t := range d.tasks {
			t.aborted = max(t.aborted, a.Epoch)
		}
	case Commit:
		return d.commit(a)
	case Release:
		for _, g := range modelGroups {
			if d.shown[g.Name] < a.Manifest.Epoch {
				return fmt.Errorf("epoch %d is released and group %s shows %d", a.Manifest.Epoch, g.Name, d.shown[g.Name])
			}
		}
		for e := range d.store {
			if e < a.Manifest.Epoch && slices.ContainsFunc(d.c.kept, func(k kept) bool { return k.manifest.Epoch == e }) {
				return fmt.Errorf("epoch %d is released and %d is kept", a.Manifest.Epoch, e)
			}
		}
		if a.Manifest.Epoch < d.released {
			return fmt.Errorf("release goes back from %d to %d", d.released, a.Manifest.Epoch)
		}
		d.released = a.Manifest.Epoch
	case Collect:
		if len(a.Keep) > d.settings.Retained+1 {
			return fmt.Errorf("%d checkpoints are kept of %d", len(a.Keep), d.settings.Retained)
		}
		for e := range d.store {
			if slices.Contains(a.Keep, e) || e > slices.Max(a.Keep) {
				continue
			}
			for _, g := range modelGroups {
				if d.shown[g.Name] < e {
					return fmt.Errorf("epoch %d is collected and group %s shows %d", e, g.Name, d.shown[g.Name])
				}
			}
			delete(d.store, e)
		}
	case Finish:
		d.finished = true
		m := d.newest()
		if !m.Finished && !m.Stopped {
			return errors.New("finished without a last checkpoint")
		}
		for _, g := range modelGroups {
			if d.shown[g.Name] != m.Epoch {
				return fmt.Errorf("finished, and group %s shows %d of %d", g.Name, d.shown[g.Name], m.Epoch)
			}
		}
	case Fail:
		d.failed = true
	}
	return nil
}

// put creates a manifest. It holds, for every sink subtask, exactly the work between
// its predecessor and itself.
func (d *drive) put(m *Manifest) error {
	if d.store[m.Epoch] != nil {
		d.post(ManifestFailed{Epoch: m.Epoch, Err: errors.New("exists")})
		return nil
	}
	n := d.newest()
	if n != nil && n.Attempt == d.attempt && n.Epoch > m.Prev && d.completes[n.Epoch] {
		return fmt.Errorf("manifest %d follows %d and %d is complete", m.Epoch, m.Prev, n.Epoch)
	}
	var sealed, counted int64
	for _, s := range m.Sinks {
		counted += s.Count
	}
	for _, t := range d.tasks {
		if t.id.Node > 0 {
			sealed += int64(t.seal[m.Epoch] - t.from)
		}
	}
	if sealed != counted {
		return fmt.Errorf("manifest %d holds %d rows of %d", m.Epoch, counted, sealed)
	}
	for _, s := range m.Tasks {
		if t := d.tasks[TaskID{s.Node, s.Subtask}]; m.Finished && s.Watermark > int64(t.before) {
			return fmt.Errorf("the last manifest holds the state of %v after End", t.id)
		}
	}
	if len(m.Tasks) != len(d.tasks) {
		return fmt.Errorf("manifest %d holds %d tasks", m.Epoch, len(m.Tasks))
	}
	if !d.fault() {
		d.store[m.Epoch] = m
		d.highest = max(d.highest, m.Epoch)
		if !d.fault() {
			d.post(ManifestCreated{Epoch: m.Epoch})
			return nil
		}
	}
	d.post(ManifestFailed{Epoch: m.Epoch, Err: errors.New("lost")})
	return nil
}

func (d *drive) commit(a Commit) error {
	if d.committing[a.Group] {
		return fmt.Errorf("two commits at once in group %s", a.Group)
	}
	d.committing[a.Group], d.lastCommit[a.Group] = true, a.Manifest.Epoch
	if !d.completes[a.Manifest.Epoch] {
		return fmt.Errorf("epoch %d is committed and not complete", a.Manifest.Epoch)
	}
	if !d.fault() {
		if err := d.show(a.Group, a.Manifest); err != nil {
			return err
		}
		if !d.fault() {
			d.post(Committed{Group: a.Group, Epoch: a.Manifest.Epoch})
			return nil
		}
	}
	d.post(CommitFailed{Group: a.Group, Epoch: a.Manifest.Epoch, Err: errors.New("away"), Retry: true})
	return nil
}
