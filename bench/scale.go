package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// ScaleConfig is the configuration of [Scale].
type ScaleConfig struct {
	// URL is the address of a NATS server with JetStream.
	URL string

	// StartLeader starts a process that calls [Lead] for a cluster, and returns a function
	// that ends the process.
	StartLeader func(cluster string) (stop func(), err error)

	Workers    []int    // numbers of simulated workers; each number is measured with a job of FixedPartitions
	Partitions []uint64 // numbers of partitions of a job; each number is measured with FixedWorkers

	FixedWorkers    int
	FixedPartitions uint64

	Slots int // number of slots of each worker

	// Viewers is the number of browsers that show the job of each point. If Viewers is not 0, the
	// cost of the browsers is measured during the third quarter of each job, and the other costs
	// during the second quarter.
	Viewers int

	// Lasts is the approximate duration of each job, at least 1 s. The middle half of each job is
	// measured. The middle half should last several report intervals of the workers (4 s for 2,000
	// workers), because the number of reports fluctuates within an interval.
	Lasts time.Duration

	Progress func(doing string, done, all uint64) // function that is called with the current activity; may be called from several goroutines
}

func (c ScaleConfig) validate() error {
	errs := []error{
		field.Check(c.StartLeader != nil, "StartLeader", nil, "a function"),
		field.Check(c.Slots >= 1 && c.Slots <= wire.MaxSlots, "Slots", c.Slots, "1 to %d", wire.MaxSlots),
		field.Check(c.Viewers >= 0 && c.Viewers <= 32, "Viewers", c.Viewers, "0 to 32, which a page has at most"),
		field.Check(c.Lasts >= time.Second, "Lasts", c.Lasts, "at least 1s"),
	}
	for _, p := range c.points() {
		errs = append(errs, field.Check(p.Workers >= 1, "Workers", p.Workers, "at least 1"), field.Check(p.Partitions >= 1, "Partitions", p.Partitions, "at least 1"))
	}
	return errors.Join(errs...)
}

// points returns the points to measure without duplicates, those for Workers first.
func (c ScaleConfig) points() []ScalePoint {
	var list []ScalePoint
	add := func(workers int, partitions uint64) {
		if p := (ScalePoint{Workers: workers, Partitions: partitions}); !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	for _, n := range c.Workers {
		add(n, c.FixedPartitions)
	}
	for _, n := range c.Partitions {
		add(c.FixedWorkers, n)
	}
	return list
}

// ScaleReport is the result of [Scale]. A point may be in both ByWorkers and ByPartitions.
type ScaleReport struct {
	Slots        int          `json:"slots"`         // number of slots of each worker
	ByWorkers    []ScalePoint `json:"by_workers"`    // points for different numbers of workers, all with FixedPartitions partitions
	ByPartitions []ScalePoint `json:"by_partitions"` // points for different numbers of partitions, all with FixedWorkers workers
}

// ScalePoint is the cost of leading one job. Rates are measured in the middle half of
// the job.
type ScalePoint struct {
	Workers    int     `json:"workers"`
	Partitions uint64  `json:"partitions"`
	Cores      float64 `json:"cores"`               // number of CPU cores that the leader's process kept busy
	Memory     uint64  `json:"memory_bytes"`        // resident memory of the leader's process in bytes at the end of the job
	Messages   float64 `json:"messages_per_second"` // number of messages per second between leader and workers
	Bytes      float64 `json:"bytes_per_second"`    // total size of the messages between leader and workers, in bytes per second
	Calls      float64 `json:"storage_calls_per_second"`
	Checkpoint uint64  `json:"checkpoint_bytes"` // size of the largest checkpoint in bytes
	Took       float64 `json:"seconds"`          // time from the submission to the durable result

	Viewers     int     `json:"viewers,omitempty"`
	ViewerCores float64 `json:"viewer_cores,omitempty"`            // number of CPU cores that all viewers together add to the leader's load
	ViewerBytes float64 `json:"viewer_bytes_per_second,omitempty"` // compressed bytes that the web page sends to each viewer per second
}

// Scale measures the cost of leading for several numbers of workers and of partitions. The workers
// are simulated in this process. The workers' sessions and messages are real, and only the work is
// simulated.
func Scale(ctx context.Context, cfg ScaleConfig) (ScaleReport, error) {
	return measure("scale", &cfg.Progress, cfg.validate(), func() (ScaleReport, error) {
		points := cfg.points()
		for i := range points {
			p := &points[i]
			cfg.Progress(fmt.Sprintf("%d workers, %d partitions", p.Workers, p.Partitions), uint64(i), uint64(len(points)))
			if err := cfg.measure(ctx, p); err != nil {
				return ScaleReport{}, fmt.Errorf("%d workers and %d partitions: %w", p.Workers, p.Partitions, err)
			}
		}
		return cfg.report(points), nil
	})
}

func (c ScaleConfig) report(points []ScalePoint) ScaleReport {
	r := ScaleReport{Slots: c.Slots}
	for _, p := range points {
		if p.Partitions == c.FixedPartitions {
			r.ByWorkers = append(r.ByWorkers, p)
		}
		if p.Workers == c.FixedWorkers {
			r.ByPartitions = append(r.ByPartitions, p)
		}
	}
	slices.SortFunc(r.ByWorkers, func(a, b ScalePoint) int { return cmp.Compare(a.Workers, b.Workers) })
	slices.SortFunc(r.ByPartitions, func(a, b ScalePoint) int { return cmp.Compare(a.Partitions, b.Partitions) })
	return r
}

func (c ScaleConfig) measure(ctx context.Context, p *ScalePoint) (err error) {
	name := "scale-" + store.NewID(time.Now()) // a new name, so that the cluster is empty
	stop, err := c.StartLeader(name)
	if err != nil {
		return fmt.Errorf("start the leader: %w", err)
	}
	defer stop()
	asker, err := client.Connect(ctx, client.Config{
		Cluster: cluster.Config{Name: name, NATS: cluster.NATS{URL: c.URL}}, Timeout: patience,
	})
	if err != nil {
		return err
	}
	defer asker.Close()
	subjects, err := asker.Cluster().Subjects()
	if err != nil {
		return err
	}
	if _, err := leader(ctx, asker); err != nil {
		return err
	}
	simulated, enough := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return simulate(simulated, c.URL, subjects, p.Workers, c.Slots, c.speed(*p))
	})
	group.Go(func() error {
		defer enough()
		return c.watch(ctx, asker, subjects, p)
	})
	return group.Wait()
}

// speed returns how many partitions per second a simulated slot must finish so that the job takes
// the time Lasts. If there are fewer partitions than slots, each partition takes the time Lasts.
func (c ScaleConfig) speed(p ScalePoint) float64 {
	each := float64(p.Partitions) / float64(p.Workers*c.Slots)
	return max(1, each) / c.Lasts.Seconds()
}

// watch runs a job, and measures the leader during the middle half of the job.
func (c ScaleConfig) watch(ctx context.Context, asker *client.Client, subjects wire.Subjects, p *ScalePoint) error {
	if _, err := awaitWorkers(ctx, asker, p.Workers); err != nil {
		return err
	}
	job := countingJob
	params, err := job.Params(nil, fmt.Sprint("partitions=", p.Partitions))
	if err != nil {
		return err
	}
	id, err := asker.Submit(ctx, job, client.SubmitOptions{Params: params})
	if err != nil {
		return err
	}
	submitted := time.Now()
	err = until(ctx, "the job is under way", glance, func(ctx context.Context) (bool, error) {
		progress, err := asker.Progress(ctx, id)
		return err == nil && progress.Workers > 0, err
	})
	if err != nil {
		return err
	}
	if err := wait(ctx, c.Lasts/4); err != nil {
		return err
	}
	before, began, err := usageAt(ctx, asker.Conn(), subjects)
	if err != nil {
		return err
	}
	measured := c.Lasts / 2
	if c.Viewers > 0 {
		measured = c.Lasts / 4
	}
	if err := wait(ctx, measured); err != nil {
		return err
	}
	after, ended, err := usageAt(ctx, asker.Conn(), subjects)
	if err != nil {
		return err
	}
	if c.Viewers > 0 {
		if err := c.measureViewers(ctx, asker, subjects, id, c.Lasts/4, p); err != nil {
			return err
		}
	}
	m, err := finish(ctx, asker, id, func(uint64, uint64) {})
	if err != nil {
		return err
	}
	last, _, err := usageAt(ctx, asker.Conn(), subjects)
	if err != nil {
		return err
	}
	seconds := ended.Sub(began).Seconds()
	rate := func(before, after uint64) float64 { return float64(after-before) / seconds }
	p.Cores = (after.CPU - before.CPU).Seconds() / seconds
	p.Messages, p.Bytes = rate(before.Messages, after.Messages), rate(before.Bytes, after.Bytes)
	p.Calls, p.Checkpoint, p.Memory = rate(before.Calls, after.Calls), last.Checkpoint, last.Memory
	p.Took = m.Finished.Sub(submitted).Seconds()
	return sameResult(ctx, asker, id, fmt.Appendf(nil, `{"counted":%d}`, p.Partitions))
}

// usageAt requests the leader's resource usage, and returns it with the time of the reply.
func usageAt(ctx context.Context, nc *nats.Conn, subjects wire.Subjects) (u usage, at time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	msg, err := nc.RequestWithContext(ctx, subjects.Ask(askUsage), nil)
	at = time.Now()
	if err == nil {
		err = json.Unmarshal(msg.Data, &u)
	}
	if err == nil && u.Error != "" {
		err = errors.New(u.Error)
	}
	if err != nil {
		return u, at, fmt.Errorf("ask the leader for its usage: %w", err)
	}
	return u, at, nil
}
