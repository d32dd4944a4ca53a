package page

import (
	"context"
	"net/http"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// samplesAnswer is the answer to /api/v1/jobs/{id}/samples: the job's progress from its beginning
// to its last checkpoint, from storage.
type samplesAnswer struct {
	Job        string         `json:"job"`
	Partitions uint64         `json:"partitions"`
	Started    *time.Time     `json:"started"`
	Step       uint64         `json:"step"` // number of partitions per cell
	Samples    []sampleAnswer `json:"samples"`
	Retried    [][2]uint64    `json:"retried"` // ranges with partitions that ran again after a failure or the death of a worker; each range is its first partition and its last partition plus 1
}

// sampleAnswer is the progress at one checkpoint.
type sampleAnswer struct {
	At       float64 `json:"at_ms"` // time since the job began
	Epoch    uint64  `json:"epoch"`
	Done     uint64  `json:"done"`
	Executed uint64  `json:"executed"`
	Failing  uint64  `json:"failing"`
	Workers  int     `json:"workers"`
	Cells    []byte  `json:"cells"` // one byte per cell in base64: the finished share of the cell's partitions, from 0 to 255
}

func (p *Page) getSamples(ctx context.Context, c *client.Client, r *http.Request) (any, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	return p.samples(ctx, c, id)
}

// samplesAge is how long an answer with the samples of a job is cached.
const samplesAge = time.Second

func (p *Page) samples(ctx context.Context, c *client.Client, id string) (samplesAnswer, error) {
	return p.lives.get(id, samplesAge, func() (samplesAnswer, error) { return newSamplesAnswer(ctx, c, id) })
}

func newSamplesAnswer(ctx context.Context, c *client.Client, id string) (samplesAnswer, error) {
	life, err := c.Life(ctx, id)
	_, step := store.SampleCells(life.Partitions)
	a := samplesAnswer{
		Job: id, Partitions: life.Partitions, Started: instant(life.Started), Step: step, Samples: []sampleAnswer{},
		Retried: pairsOf(life.Retried),
	}
	for _, s := range life.Samples {
		a.Samples = append(a.Samples, sampleAnswer{milliseconds(s.At), s.Epoch, s.Done, s.Executed, s.Failing, s.Workers, s.Cells})
	}
	return a, err
}

// throughputAnswer is the answer to /api/v1/throughput: the progress of the latest jobs over time.
// The cluster's throughput is the sum over its jobs.
type throughputAnswer struct {
	Jobs []throughputJob `json:"jobs"`
}

type throughputJob struct {
	Job     string       `json:"job"`
	Started time.Time    `json:"started"`
	Points  [][2]float64 `json:"points"` // pairs of the milliseconds since the job began and the number of finished partitions
}

const (
	throughputPast = 24 * time.Hour
	throughputAge  = 10 * time.Second // time for which the answer is cached
	throughputJobs = 50
)

func (p *Page) getThroughput(ctx context.Context, c *client.Client, _ *http.Request) (any, error) {
	return p.throughput(ctx, c)
}

func (p *Page) throughput(ctx context.Context, c *client.Client) (throughputAnswer, error) {
	return p.output.get("", throughputAge, func() (throughputAnswer, error) {
		a := throughputAnswer{Jobs: []throughputJob{}}
		page, err := c.Page(ctx, client.Query{Show: client.ShowAll, Limit: throughputJobs})
		if err != nil {
			return a, err
		}
		for _, j := range page.Jobs {
			if !j.Finished.IsZero() && time.Since(j.Finished) > throughputPast || j.State == client.Queued || j.State == "" {
				continue
			}
			life, err := c.Life(ctx, j.ID)
			if err != nil || len(life.Samples) == 0 {
				continue // skip a job that was removed, or whose leader had an old version
			}
			job := throughputJob{Job: j.ID, Started: life.Started.UTC(), Points: [][2]float64{{0, 0}}}
			for _, s := range life.Samples {
				job.Points = append(job.Points, [2]float64{milliseconds(s.At), float64(s.Done)})
			}
			a.Jobs = append(a.Jobs, job)
		}
		return a, nil
	})
}
