package cli

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// metrics is what /metrics shows. Labels have few values, all known beforehand: no
// job's and no worker's ID. What a process counts it shows from the start, so that
// rates miss nothing; what only a leader can know, the leader alone shows.
type metrics struct {
	registry *prometheus.Registry

	reports       prometheus.Histogram
	merges        prometheus.Histogram
	checkpoints   prometheus.Histogram
	phases        *prometheus.HistogramVec
	takeovers     *prometheus.CounterVec
	storageCalls  *prometheus.CounterVec
	done, repeats prometheus.Counter

	figures         atomic.Pointer[term.Figures] // nil unless this process leads and has seen something
	checkpointBytes atomic.Int64                 // of the last one; 0: none in this term
}

// leaderOnly ends the help of what only the leader shows.
const leaderOnly = " Only the leader has this metric."

// whileLeading ends the help of what only leaders count.
const whileLeading = " Counted by leaders, so the sum over all workers is the cluster's."

// Buckets, in seconds.
var (
	// Reports and merges take a millisecond or so, and at worst a few seconds.
	shortTimes = prometheus.ExponentialBuckets(0.0005, 2, 17)
	// Checkpoints wait for storage, and takeovers for a lease of up to a minute.
	longTimes = prometheus.ExponentialBuckets(0.001, 2, 18)
)

func newMetrics(v *vitals, b build) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	m.reports = m.histogram("report_duration_seconds", "How long reports to the leader took, from when they were first sent to the receipt.", shortTimes)
	m.merges = m.histogram("merge_duration_seconds", "How long the leader's merges of two partials took in the job's own code."+whileLeading, shortTimes)
	m.checkpoints = m.histogram("checkpoint_duration_seconds", "How long checkpoints took to be durable, from when they were asked for."+whileLeading, longTimes)
	m.done = m.counter("partitions_done_total", "Partitions that are done and durable."+whileLeading)
	m.repeats = m.counter("partitions_repeated_total", "Executions of partitions beyond one each."+whileLeading)

	m.phases = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: namespace + "takeover_duration_seconds", Buckets: longTimes,
		Help: "How long each phase of a change of leader took, as in the command history." + whileLeading,
	}, []string{"phase"})
	m.takeovers = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: namespace + "takeovers_total",
		Help: "Terms that this process began to lead, by why they began: first, free, expired, died, silent or handover.",
	}, []string{"cause"})
	m.storageCalls = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: namespace + "storage_calls_total",
		Help: "Calls of storage, of its queue and of the lease, by how they went: ok, absent, conflict (another was quicker), cancelled or error.",
	}, []string{"call", "outcome"})
	m.registry.MustRegister(m.phases, m.takeovers, m.storageCalls)
	for _, phase := range term.Phases {
		m.phases.WithLabelValues(phase)
	}
	for _, cause := range election.Causes {
		m.takeovers.WithLabelValues(string(cause))
	}
	for _, call := range slices.Concat(store.CallNames, leaseCalls) {
		for _, outcome := range store.CallOutcomes {
			m.storageCalls.WithLabelValues(call, outcome)
		}
	}

	m.gauge("slots", "Partitions that this worker can run at once.", func() float64 { return float64(v.status().Slots) })
	m.gauge("slots_busy", "Slots that run a span.", func() float64 { return float64(v.status().Busy) })
	m.gauge("spans_queued", "Spans that wait for a slot of this worker.", func() float64 { return float64(v.status().Queued) })
	m.gauge("retained_partial_bytes", "Partials that this worker keeps until they are durable.", func() float64 { return float64(v.status().Bytes) })
	m.gauge("epoch", "Epoch of the leader that this worker follows; 0 before the first.", func() float64 { return float64(v.status().Epoch) })
	m.gauge("is_leader", "1 where this process leads, 0 elsewhere.", func() float64 {
		if v.epoch.Load() > 0 {
			return 1
		}
		return 0
	})
	m.registry.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: namespace + "nats_reconnects_total", Help: "Connections to NATS that were lost and made again.",
		}, func() float64 { return float64(v.nc.Stats().Reconnects) }),
		leaderCollector{m},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: namespace + "build_info", Help: "1, labelled with the program's version and Go's.",
	}, []string{"version", "goversion"})
	info.WithLabelValues(b.Version, b.Go).Set(1)
	m.registry.MustRegister(info)
	return m
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

func (m *metrics) gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: namespace + name, Help: help}, value))
}

// What only the leader shows.
var (
	jobsMetric = prometheus.NewDesc(namespace+"jobs",
		"Jobs that have not ended: planning, running, or waiting for a leader that knows their kind and can read them."+leaderOnly, []string{"state"}, nil)
	workersMetric = prometheus.NewDesc(namespace+"workers",
		"Workers that the leader knows."+leaderOnly, nil, nil)
	desiredMetric = prometheus.NewDesc(namespace+"workers_desired",
		"Workers that would do all partitions of the active jobs in about 5 minutes, no more than there are partitions left; at least 1 while any job has not ended, else 0."+leaderOnly+
			" To start the first worker takes another source, such as the length of the queue.", nil, nil)
	checkpointBytesMetric = prometheus.NewDesc(namespace+"checkpoint_bytes",
		"Size of the manifest that was written last, without partials that are beside it."+leaderOnly, nil, nil)
	checkpointAgeMetric = prometheus.NewDesc(namespace+"checkpoint_age_seconds",
		"For how long the oldest checkpoint that is not durable yet has been asked for; 0 where there is none."+leaderOnly, nil, nil)
)

// leaderCollector collects what only the leader shows.
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
	show(jobsMetric, float64(f.Waiting), "waiting")
	show(workersMetric, float64(f.Workers))
	show(desiredMetric, float64(f.Desired))
	show(checkpointAgeMetric, f.Unsaved.Seconds())
	if bytes := c.checkpointBytes.Load(); bytes > 0 {
		show(checkpointBytesMetric, float64(bytes))
	}
}

func (m *metrics) termBegun(cause election.Cause) {
	m.takeovers.WithLabelValues(string(cause)).Inc()
	m.checkpointBytes.Store(0)
}

func (m *metrics) termEnded() { m.figures.Store(nil) }

func (m *metrics) reportDone(took time.Duration) { m.reports.Observe(took.Seconds()) }

// storageCall counts a call of storage or of the lease.
func (m *metrics) storageCall(c store.Call) {
	m.storageCalls.WithLabelValues(c.Name, c.Outcome()).Inc()
	if c.Name == "put" && c.Kind == "manifest" && c.Err == nil {
		m.checkpointBytes.Store(int64(c.Bytes))
	}
}

// observe takes in what a term of this process did or saw.
func (m *metrics) observe(o term.Observation) {
	switch o := o.(type) {
	case term.MergeDone:
		m.merges.Observe(o.Took.Seconds())
	case term.CheckpointDone:
		m.checkpoints.Observe(o.Took.Seconds())
	case term.Progress:
		m.done.Add(float64(o.Done))
		m.repeats.Add(float64(o.Repeated))
	case term.PhaseDone:
		m.phases.WithLabelValues(o.Phase).Observe(o.Took.Seconds())
	case term.Figures:
		m.figures.Store(&o)
	}
}
