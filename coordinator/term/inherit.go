package term

import (
	"context"
	"errors"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// inheritable returns the nodes of the final manifest of a job, for a job that retries it. A job that has completed keeps
// nodes only if partitions were skipped. A job is often cancelled to make room, so its blobs are not kept.
func inheritable(last store.Manifest) []store.StoredNode {
	nodes := last.Nodes
	if len(last.Whole) > 0 { // the other nodes are merged with skipped partitions, or will be
		nodes = last.Whole
	}
	switch {
	case last.State == store.Failed:
		return nodes
	case last.State == store.Cancelled:
		return slices.DeleteFunc(slices.Clone(nodes), func(n store.StoredNode) bool { return n.Blob != "" })
	case len(last.Skipped) > 0:
		return last.Whole
	}
	return nil
}

// inherit adds to the first manifest of a job the finished nodes of the job that it retries, and returns that job's
// plan. A node with a skipped partition is left out, because the partition is to be tried again. A job with rounds goes on
// in the round in which the earlier job ended. If the earlier job
// was removed, inherit changes nothing: then the job computes everything.
//
// inherit may run again after the death of a leader, and then writes the same plan and the same blobs.
func (t *Term) inherit(spec store.StoredSpec, first *store.Manifest) (plan store.Plan, err error) {
	from := spec.Retries
	old, oldErr := t.readSpec(from)
	m, _, manifestErr := t.readManifest(from)
	plan, planErr := t.readPlan(from)
	for _, err := range []error{oldErr, manifestErr, planErr} {
		switch {
		case errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt):
			return store.Plan{}, nil
		case err != nil:
			return store.Plan{}, err
		}
	}
	tree, err := engine.NewTree(plan.Partitions)
	if err != nil || kindOf(old.Spec) != kindOf(spec.Spec) || string(old.Params) != string(spec.Params) {
		return store.Plan{}, nil
	}
	plan.Found = "" // the nodes are in the manifest of the earlier job
	err = t.retry("write plan", func(ctx context.Context) error { return t.cfg.Store.PutPlan(ctx, spec.ID, plan) })
	if err != nil {
		return store.Plan{}, err
	}
	first.Partitions, first.Builds, first.Uncounted = plan.Partitions, m.Builds, m.Uncounted
	to := spec.ID
	if first.Rounds != nil {
		if from, to, err = t.inheritRound(from, to, m, first); err != nil || first.Rounds.Round == 0 {
			return plan, err
		}
		if first.Inherited = first.Rounds.Earlier; first.Rounds.Last {
			first.Inherited += plan.Partitions
		}
	}
	for _, node := range m.Nodes {
		span := tree.Span(node.Node)
		if node.Empty || slices.ContainsFunc(m.Skipped, func(p uint64) bool { return span.Lo <= p && p < span.Hi }) {
			continue
		}
		copied, err := t.copyPartial(from, to, node)
		if err != nil {
			return store.Plan{}, err
		}
		if copied {
			first.Nodes = append(first.Nodes, node)
			first.Inherited += span.Len()
		}
	}
	first.Executed = first.Inherited
	first.Judged, first.Stopped = inheritedJudgements(m)
	return plan, nil
}

// inheritRound adds to the first manifest of a job the round of the job that it retries, with its state. It returns the IDs
// of the two rounds. If the state is lost, the job begins with round 0.
func (t *Term) inheritRound(from, to string, m store.Manifest, first *store.Manifest) (fromRound, toRound string, err error) {
	if m.Rounds == nil {
		return from, to, nil
	}
	fromRound, toRound = engine.RoundID(from, m.Rounds.Round), engine.RoundID(to, m.Rounds.Round)
	copied, err := t.copyPartial(fromRound, toRound, store.StoredNode{Node: wire.OutputNode(wire.Finish), Blob: m.Rounds.Blob})
	if err == nil && copied {
		first.Rounds = m.Rounds
	}
	return fromRound, toRound, err
}

// inheritedJudgements returns the judgements of the final manifest of a job that remain right when its skipped
// partitions are tried again. A stop in time is not one of them.
func inheritedJudgements(m store.Manifest) (judged []jobs.Estimated, stopped *jobs.Stopped) {
	whole := m.Partitions // the first partitions, without the first skipped one
	if len(m.Skipped) > 0 {
		whole = slices.Min(m.Skipped)
	}
	for _, e := range m.Judged {
		if e.Partitions <= whole {
			judged = append(judged, e)
		}
	}
	if s := m.Stopped; s != nil && !s.Timed && s.At <= whole {
		stopped = s
	}
	return judged, stopped
}

// copyPartial copies the blob of a node from one job to another. It returns false if the blob is missing or damaged.
func (t *Term) copyPartial(from, to string, node store.StoredNode) (bool, error) {
	if node.Blob == "" {
		return true, nil
	}
	data, err := retryRead(t, "read partial", func(ctx context.Context) ([]byte, error) { return t.cfg.Store.Partial(ctx, from, node.Blob) })
	switch {
	case errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt):
		return false, nil
	case err != nil:
		return false, err
	}
	err = t.retry("write partial", func(ctx context.Context) error {
		_, err := t.cfg.Store.PutPartial(ctx, to, node.Node, data)
		return err
	})
	return err == nil, err
}
