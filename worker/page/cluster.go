package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// clusterAnswer is the answer to /api/v1/cluster.
type clusterAnswer struct {
	Now     time.Time `json:"now"`
	Cluster string    `json:"cluster"`
	Storage string    `json:"storage"` // the kind of storage
	Actions bool      `json:"actions"` // the page has a token, so that clients with this token may send POST requests

	Leader *wire.LeaderInfo `json:"leader"` // null if no leader answers
	Totals *wire.Totals     `json:"totals"` // null if no leader answers, or if the leader has an earlier version
	NATS   float64          `json:"nats_ms"`
	Error  string           `json:"error"` // reason why no leader answers; empty if a leader answers
}

// clusterNow is the leader's answer to one request.
type clusterNow struct {
	cluster clusterAnswer
	workers workersAnswer // the first page of the list of workers
	encoded []byte        // encoded list of workers, which the event streams of all viewers share
}

// epoch returns the epoch of the leader, or 0 if no leader answers.
func (n clusterNow) epoch() uint64 {
	if n.cluster.Leader == nil {
		return 0
	}
	return n.cluster.Leader.Epoch
}

// liveAge is how long the leader's answer is cached for other viewers. The streams of all viewers
// send their requests at the same times (see lookEvery), so a short time is enough.
const liveAge = 250 * time.Millisecond

// clusterOf asks the leader for the statistics of the cluster and for the first workers in the
// order of their IDs, up to limit workers.
func (p *Page) clusterOf(ctx context.Context, c *client.Client, limit int) clusterNow {
	now, _ := p.live.get(strconv.Itoa(limit), liveAge, func() (clusterNow, error) {
		a := clusterAnswer{Cluster: p.cfg.Cluster.Name, Storage: storageName(p.cfg.Cluster.Storage), Actions: p.cfg.Token != ""}
		asked := time.Now()
		answer, err := c.WorkersAfter(ctx, "", limit)
		a.Now, a.NATS = time.Now().UTC(), milliseconds(time.Since(asked))
		switch {
		case err != nil:
			a.Error = textOf(err)
		case answer.Totals == nil: // the leader has an old version
			if leader, err := c.Leader(ctx); err == nil {
				a.Leader = &leader
			}
		default:
			a.Leader, a.Totals = &answer.Totals.Leader, answer.Totals
		}
		workers := newWorkersAnswer(answer, limit)
		encoded, err := json.Marshal(workers)
		return clusterNow{a, workers, encoded}, err
	})
	return now
}

func storageName(kind cluster.StorageKind) string {
	if kind == cluster.Azure {
		return "Azure Storage"
	}
	return "JetStream"
}

func (p *Page) getCluster(ctx context.Context, c *client.Client, _ *http.Request) (any, error) {
	return p.clusterOf(ctx, c, 0).cluster, nil
}

// workersAnswer is the answer to /api/v1/workers.
type workersAnswer struct {
	Workers []wire.WorkerInfo `json:"workers"` // sorted by ID
	Gone    []wire.GoneWorker `json:"gone"`    // workers that have died under this leader, the last one first
	Next    string            `json:"next"`    // value of the parameter "after" for the next page; empty on the last page
	More    int               `json:"more"`    // number of workers on further pages
}

func newWorkersAnswer(w client.Workers, limit int) workersAnswer {
	a := workersAnswer{Workers: w.Workers[:min(len(w.Workers), limit)], Gone: append([]wire.GoneWorker{}, w.Gone...)}
	if a.More = w.More + len(w.Workers) - len(a.Workers); a.More > 0 && limit > 0 {
		a.Next = a.Workers[len(a.Workers)-1].ID
	}
	if a.Workers == nil {
		a.Workers = []wire.WorkerInfo{}
	}
	return a
}

func (p *Page) getWorkers(ctx context.Context, c *client.Client, r *http.Request) (any, error) {
	limit, err := limitOf(r)
	if err != nil {
		return nil, err
	}
	after := r.FormValue("after")
	if after != "" && !wire.ValidWorker(after) {
		return nil, badRequest{fmt.Errorf("after %.100q: want the ID of a worker", after)}
	}
	answer, err := c.WorkersAfter(ctx, after, limit)
	return newWorkersAnswer(answer, limit), err
}

// termsAnswer is the answer to /api/v1/terms.
type termsAnswer struct {
	Terms   []client.Term `json:"terms"` // newest first
	Next    uint64        `json:"next"`  // value of the parameter "before" for the next page; 0 on the last page
	Storage float64       `json:"storage_ms"`
}

func (p *Page) getTerms(ctx context.Context, c *client.Client, r *http.Request) (any, error) {
	limit, err := limitOf(r)
	if err != nil {
		return nil, err
	}
	before := uint64(0)
	if text := r.FormValue("before"); text != "" {
		if before, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, badRequest{errors.New("before: want an epoch")}
		}
	}
	return p.termsBefore(ctx, c, before, limit)
}

// termsAge is how long a list of terms is cached. Terms rarely change, except during the second
// after a change of leader.
const termsAge = 400 * time.Millisecond

func (p *Page) termsBefore(ctx context.Context, c *client.Client, before uint64, limit int) (termsAnswer, error) {
	return p.terms.get(fmt.Sprint(before, limit), termsAge, func() (termsAnswer, error) {
		asked := time.Now()
		terms, more, err := c.LatestTerms(ctx, before, limit)
		a := termsAnswer{Terms: append([]client.Term{}, terms...), Storage: milliseconds(time.Since(asked))}
		if more {
			a.Next = terms[len(terms)-1].Epoch
		}
		return a, err
	})
}
