package worker

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/machine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// metrics are the values that /metrics serves. Each label has only few values, which never include
// IDs of jobs or workers. A process exports its counters from its start on, so that rates include
// the first increment. Only the leader exports gauges whose values only the leader knows.
type metrics struct {
	registry *prometheus.Registry

	reports        prometheus.Histogram
	pings          prometheus.Histogram
	merges         prometheus.Histogram
	assignedMerges prometheus.Histogram
	checkpoints    prometheus.Histogram
	phases         *prometheus.HistogramVec
	takeovers      *prometheus.CounterVec
	storageCalls   *prometheus.CounterVec
	done, repeated prometheus.Counter
	slotTime       prometheus.Counter
	lostTime       prometheus.Counter
	throttled      prometheus.Counter

	figures         atomic.Pointer[term.Figures] // the leader's statistics; nil if this process does not lead or has no statistics yet
	checkpointBytes atomic.Int64                 // size in bytes of the last checkpoint in this term; 0 before the first checkpoint
}

const leaderOnly = " Only the leader has this metric."

const summable = " Counted by leaders, so the sum over all workers is the cluster's."

var (
	// shortTimes contains the buckets for reports, pings and merges, which take about a
	// millisecond, or a few seconds in the worst case.
	shortTimes = prometheus.ExponentialBuckets(0.0005, 2, 17)
	// longTimes contains the buckets for checkpoints, which take seconds if storage is slow, for
	// takeovers, which may have to wait up to a minute for the lease to expire, and for merges of
	// large partials, which may have to fetch 1 GiB.
	longTimes = prometheus.ExponentialBuckets(0.001, 2, 18)
)

func newMetrics(h *health, cfg Config) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	m.reports = m.histogram("report_duration_seconds", "Time from first sending a report to the leader until its receipt arrived.", shortTimes)
	m.pings = m.histogram("ping_duration_seconds", "Time from sending a ping to the leader until its answer arrived or the ping timed out. Only followers send pings.", shortTimes)
	m.merges = m.histogram("merge_duration_seconds", "Time that the job's Merge took for two small partials at the leader."+summable, shortTimes)
	m.assignedMerges = m.histogram("assigned_merge_duration_seconds", "Time that a merge took that a leader assigned to this worker, including the wait for memory and for the operands. Workers merge large partials.", longTimes)
	m.checkpoints = m.histogram("checkpoint_duration_seconds", "Time from requesting a checkpoint until it was durable."+summable, longTimes)
	m.done = m.counter("partitions_done_total", "Partitions whose results became durable."+summable)
	m.repeated = m.counter("partitions_repeated_total", "Executions of partitions beyond the first of each."+summable)

	m.slotTime = m.counter("slot_seconds_total", "Time for which partitions have occupied slots, in durable checkpoints, also of failed and repeated executions and of workers that died."+summable)
	m.lostTime = m.counter("slot_seconds_lost_total", "The part of slot_seconds_total whose work was lost with a worker, failed or was repeated."+summable)
	m.throttled = m.counter("source_requests_throttled_total", "Requests of this worker's jobs to sources of objects that storage throttled (status 429 or 503), and that the worker repeated with fewer requests at the same time.")

	m.addVectors()
	m.addGauges(h, cfg.Memory)
	m.count("nats_reconnects_total", "Reconnects to NATS after the connection was lost.", func() float64 { return float64(h.nc.Stats().Reconnects) })
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: namespace + "build_info", Help: "1, with the versions of the program and of Go as labels.",
	}, []string{"version", "goversion"})
	info.WithLabelValues(cfg.Version, runtime.Version()).Set(1)
	m.registry.MustRegister(
		leaderCollector{m},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		info,
	)
	return m
}

// addVectors adds the metrics with labels, and all values of the labels.
func (m *metrics) addVectors() {
	m.phases = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: namespace + "takeover_duration_seconds", Buckets: longTimes,
		Help: "Time that each phase of a change of leader took. The command history shows the same phases." + summable,
	}, []string{"phase"})
	m.takeovers = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: namespace + "takeovers_total",
		Help: "Terms that this process led, by cause: first, free, expired, died, silent or handover.",
	}, []string{"cause"})
	m.storageCalls = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: namespace + "storage_calls_total",
		Help: "Calls to blobs, to the queue and to the lease, by outcome: ok, absent, conflict (another process was first), cancelled or error.",
	}, []string{"call", "outcome"})
	m.registry.MustRegister(m.phases, m.takeovers, m.storageCalls)
	for _, phase := range term.Phases {
		m.phases.WithLabelValues(phase)
	}
	for _, cause := range machine.Causes {
		m.takeovers.WithLabelValues(string(cause))
	}
	for _, call := range slices.Concat(store.CallNames, leaseCalls) {
		for _, outcome := range store.CallOutcomes {
			m.storageCalls.WithLabelValues(call, outcome)
		}
	}
}

func (m *metrics) addGauges(h *health, memoryLimit int64) {
	m.gauge("slots", "Partitions that this worker can run at once.", func() float64 { return float64(h.status().Slots) })
	m.gauge("slots_busy", "Slots that run a span.", func() float64 { return float64(h.status().Busy) })
	m.gauge("spans_queued", "Spans that wait for a slot of this worker.", func() float64 { return float64(h.status().Queued) })
	m.gauge("retained_partial_bytes", "Bytes of small partials and other results that this worker keeps until they are durable. Large partials are counted in held_partial_bytes and spilled_partial_bytes.", func() float64 { return float64(h.status().Bytes) })
	m.addPartials(h, memoryLimit)
	m.gauge("death_cost_seconds", "Work that would be repeated if this worker died now, in seconds of all its slots.", func() float64 {
		if e := h.executor.Load(); e != nil {
			return e.DeathCost() / float64(h.status().Slots)
		}
		return 0
	})
	m.gauge("epoch", "Epoch of the leader that this worker follows; 0 before the first.", func() float64 { return float64(h.status().Epoch) })
	m.indicator("is_leader", "1 if this process leads, otherwise 0.", func() bool { return h.epoch.Load() > 0 })
}

// addPartials adds the metrics of large partials. The parameter limit is Config.Memory.
func (m *metrics) addPartials(h *health, limit int64) {
	m.gauge("held_partial_bytes", "Bytes of large partials that this worker holds in memory.", func() float64 { return float64(h.partials().Held) })
	m.gauge("spilled_partial_bytes", "Bytes of large partials that this worker holds in files of its spill folder.", func() float64 { return float64(h.partials().Spilled) })
	m.gauge("memory_used_bytes", "Bytes of memory for held partials, slots that compute large partials, operands and results of merges, large states of rounds, and what cached_bytes counts.", func() float64 { return float64(h.partials().Used) })
	m.gauge("cached_bytes", "Bytes that jobs keep in caches from round to round, such as rows. They are part of memory_used_bytes, and give way to all other parts.", func() float64 { return float64(h.partials().Cached) })
	m.gauge("memory_limit_bytes", "Limit of memory_used_bytes, above which partials are moved to the spill folder and slots wait: the setting --memory.", func() float64 { return float64(limit) })
	m.indicator("memory_short", "1 if no partition may begin because memory_used_bytes is close to its limit, otherwise 0.", func() bool { return h.partials().Short })
	m.count("partials_spilled_total", "Large partials that this worker moved from memory to its spill folder.", func() float64 { return float64(h.partials().Spills) })
	m.count("partials_stored_total", "Held partials that this worker wrote to storage.", func() float64 { return float64(h.partials().Stored) })
}

const namespace = "bellwether_"

func (m *metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: namespace + name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

func (m *metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: namespace + name, Help: help})
	m.registry.MustRegister(c)
	return c
}

// count adds a counter whose value another part of the process counts.
func (m *metrics) count(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: namespace + name, Help: help}, value))
}

func (m *metrics) gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: namespace + name, Help: help}, value))
}

// indicator adds a gauge that is 1 if value returns true, and otherwise 0.
func (m *metrics) indicator(name, help string, value func() bool) {
	m.gauge(name, help, func() float64 {
		if value() {
			return 1
		}
		return 0
	})
}

// Only the leader exports these metrics.
var (
	jobsMetric = prometheus.NewDesc(namespace+"jobs",
		"Jobs that have not ended, by state: planning, running, queued until other jobs have ended, or waiting for a leader that knows their definition and can read their records."+leaderOnly, []string{"state"}, nil)
	workersMetric = prometheus.NewDesc(namespace+"workers",
		"Workers that the leader knows."+leaderOnly, nil, nil)
	desiredMetric = prometheus.NewDesc(namespace+"workers_desired",
		"Workers that would finish the active jobs in about 5 minutes, at most one per remaining partition; at least 1 while any job has not ended, otherwise 0."+leaderOnly+
			" Starting the first worker needs another source, such as the length of the queue.", nil, nil)
	checkpointBytesMetric = prometheus.NewDesc(namespace+"checkpoint_bytes",
		"Size of the last manifest written, without the partials that are stored separately."+leaderOnly, nil, nil)
	checkpointAgeMetric = prometheus.NewDesc(namespace+"checkpoint_age_seconds",
		"Time since the oldest checkpoint that is not durable yet was requested; 0 if there is none."+leaderOnly, nil, nil)
)

// leaderCollector collects the metrics that only the leader exports.
type leaderCollector struct{ *metrics }

func (leaderCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{jobsMetric, workersMetric, desiredMetric, checkpointBytesMetric, checkpointAgeMetric} {
		to <- d
	}
}

func (c leaderCollector) Collect(to chan<- prometheus.Metric) {
	f := c.figures.Load()
	if f == nil {
		return
	}
	show := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	show(jobsMetric, float64(f.Planning), "planning")
	show(jobsMetric, float64(f.Running), "running")
	show(jobsMetric, float64(f.Queued), "queued")
	show(jobsMetric, float64(f.Waiting), "waiting")
	show(workersMetric, float64(f.Workers))
	show(desiredMetric, float64(f.Desired))
	show(checkpointAgeMetric, f.Unsaved.Seconds())
	if bytes := c.checkpointBytes.Load(); bytes > 0 {
		show(checkpointBytesMetric, float64(bytes))
	}
}

func (m *metrics) termBegan(cause election.Cause) {
	m.takeovers.WithLabelValues(string(cause)).Inc()
	m.checkpointBytes.Store(0)
}

func (m *metrics) termEnded() { m.figures.Store(nil) }

func (m *metrics) reportDone(took time.Duration) { m.reports.Observe(took.Seconds()) }

func (m *metrics) pingDone(took time.Duration) { m.pings.Observe(took.Seconds()) }

func (m *metrics) mergeDone(took time.Duration) { m.assignedMerges.Observe(took.Seconds()) }

// storageCall counts a call to the blob storage or to the queue.
func (m *metrics) storageCall(c store.Call) {
	m.storageCalls.WithLabelValues(c.Name, c.Outcome()).Inc()
	if c.Name == "put" && c.Kind == "manifest" && c.Err == nil {
		m.checkpointBytes.Store(int64(c.Bytes))
	}
}

// leaseCall counts a call to the lease. A lease call counts as a conflict if another process has
// acquired the lease first.
func (m *metrics) leaseCall(name string, err error) {
	outcome := store.Call{Err: err}.Outcome()
	if errors.Is(err, election.ErrHeld) || errors.Is(err, election.ErrLost) {
		outcome = "conflict"
	}
	m.storageCalls.WithLabelValues(name, outcome).Inc()
}

// observe updates the metrics for an observation of a term that this process leads.
func (m *metrics) observe(o term.Observation) {
	switch o := o.(type) {
	case term.MergeDone:
		m.merges.Observe(o.Took.Seconds())
	case term.CheckpointDone:
		m.checkpoints.Observe(o.Took.Seconds())
	case term.Progress:
		m.done.Add(float64(o.Done))
		m.repeated.Add(float64(o.Repeated))
		m.slotTime.Add(o.SlotSeconds)
		m.lostTime.Add(o.LostSeconds)
	case term.PhaseDone:
		m.phases.WithLabelValues(o.Phase).Observe(o.Took.Seconds())
	case term.Figures:
		m.figures.Store(&o)
	}
}
