package term

import (
	"errors"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// This file handles jobs that continue from the last state of an earlier job, which Spec.From names. The state becomes
// that of round 0.

// firstRound returns round 0 of a job, nil for a job without rounds. It returns wait if the earlier job has not ended, or why
// the job cannot continue from it. If the leader dies, the next one copies the same state again.
func (t *Term) firstRound(spec store.StoredSpec) (first *store.Rounds, wait bool, failure string, err error) {
	switch {
	case spec.Spec.Rounds == 0:
		return nil, false, "", nil
	case spec.From == "":
		return &store.Rounds{}, false, "", nil
	}
	unusable := func(why string) (*store.Rounds, bool, string, error) {
		return nil, false, fmt.Sprintf("job %s, from which this job continues, %s", spec.From, why), nil
	}
	m, err := t.predecessor(spec.From)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return unusable("was removed")
	case errors.Is(err, store.ErrCorrupt):
		return unusable("is damaged in storage")
	case err != nil:
		return nil, false, "", err
	case !m.State.Final():
		return nil, true, "", nil
	case m.Rounds == nil || m.Rounds.Round == 0:
		return unusable("has no state: it ended before its first round")
	}
	old, err := t.readSpec(spec.From)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return unusable("was removed")
	case err != nil && !errors.Is(err, store.ErrCorrupt):
		return nil, false, "", err
	case err != nil || kindOf(old.Spec) != kindOf(spec.Spec):
		return unusable(fmt.Sprintf("is not of the kind %s %s", spec.Spec.Job, spec.Version))
	}
	state := store.StoredNode{Node: wire.OutputNode(wire.Finish), Blob: m.Rounds.Blob}
	copied, err := t.copyPartial(engine.RoundID(spec.From, m.Rounds.Round), engine.RoundID(spec.ID, 0), state)
	switch {
	case err != nil:
		return nil, false, "", err
	case !copied:
		return unusable("has lost its state: it is missing in storage or damaged")
	}
	return &store.Rounds{State: m.Rounds.State, Blob: m.Rounds.Blob}, false, "", nil
}
