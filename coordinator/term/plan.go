package term

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// maxPlanData is the maximum size in bytes of a plan's data in a receipt. Workers read larger plans
// from storage.
const maxPlanData = 8 << 10

// setPlan stores a job's plan in the job. It returns the parts of the plan that the ledger needs.
func (j *activeJob) setPlan(plan store.Plan) ledger.Plan {
	if tree, err := engine.NewTree(plan.Partitions); err == nil {
		j.tree = tree
	}
	j.plan = ledger.Plan{Partitions: plan.Partitions, Data: plan.Data}
	if len(plan.Data) > maxPlanData {
		j.plan.Data, j.plan.InStore = nil, true
	}
	return j.plan
}

// storePlan writes a plan that a worker has computed to storage. If an earlier leader has already
// stored a plan, storePlan uses that plan. The plan is written in the same sequence as the job's
// manifests, so that no plan is written after a final manifest.
func (t *Term) storePlan(a ledger.StorePlan) {
	j := t.active(a.Job)
	data := t.partials.get(a.Data)
	j.manifest.writes.acquire(func() {
		if j.ending.Load() {
			j.manifest.writes.release()
			return
		}
		t.spawn(func() func() {
			plan, err := t.putPlan(j, a, data)
			var found store.Found
			if err == nil {
				found, err = t.readFound(j.spec.ID, plan)
			}
			return func() {
				j.manifest.writes.release()
				t.planStored(j, plan, found, err)
			}
		})
	})
}

func (t *Term) planStored(j *activeJob, plan store.Plan, found store.Found, err error) {
	var fault *jobFault
	switch {
	case j.ended:
	case errors.As(err, &fault) || errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrCorrupt):
		t.step(ledger.JobFailed{Job: j.id, Error: err.Error()})
	case err != nil:
		t.fail(err)
	default:
		e := ledger.JobPlanned{Job: j.id, Plan: j.setPlan(plan)}
		text := fmt.Sprintf("Job planned, %d partitions", e.Partitions)
		if plan.Found != "" {
			e.Reused, e.Nodes = &found.Reused, t.finishedNodes(j, found.Nodes)
			text += fmt.Sprintf(", %d of them reused", found.Partitions)
		}
		t.log.Info("Job planned", "job", j.spec.ID, "partitions", e.Partitions)
		t.record(j.spec.ID, "", text, true)
		t.step(e)
	}
}

// putPlan writes a plan. If storage already has a plan, putPlan returns that plan.
func (t *Term) putPlan(j *activeJob, a ledger.StorePlan, data partial) (plan store.Plan, err error) {
	plan.Partitions, plan.Found = a.Partitions, a.Found
	if plan.Data, err = t.readPartial(j.id, data); err != nil {
		return plan, err
	}
	err = t.retry("write plan", func(ctx context.Context) error { return t.cfg.Store.PutPlan(ctx, j.spec.ID, plan) })
	if errors.Is(err, store.ErrConflict) {
		return t.readPlan(j.spec.ID)
	}
	return plan, err
}

// readFound returns what the worker that planned a job has found among the kept partials. If that is lost or damaged,
// readFound returns nothing, and the job computes everything.
func (t *Term) readFound(job string, plan store.Plan) (store.Found, error) {
	tree, err := engine.NewTree(plan.Partitions)
	if plan.Found == "" || err != nil {
		return store.Found{}, nil
	}
	found, err := retryRead(t, "read kept partials", func(ctx context.Context) (store.Found, error) {
		return t.cfg.Store.Found(ctx, job, plan.Found, tree)
	})
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		t.log.Warn("What a job reuses is lost, everything is computed", "job", job, "error", err)
		return store.Found{}, nil
	}
	return found, err
}

// withFound returns a manifest that also contains what the job reuses.
func withFound(m store.Manifest, found store.Found) store.Manifest {
	if found.Build == "" {
		return m
	}
	m.Reused, m.Nodes = &found.Reused, found.Nodes
	m.Executed += found.Partitions
	if !slices.Contains(m.Builds, found.Build) {
		m.Builds = append(slices.Clone(m.Builds), found.Build)
		slices.Sort(m.Builds)
	}
	return m
}
