package worker

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/imds"
)

// Config is the configuration of a worker process. [Run] validates the Config. Cluster and Jobs are
// required; the other fields have defaults.
type Config struct {
	// Cluster identifies the cluster to join, with the settings for its NATS and its storage.
	Cluster cluster.Config

	// Jobs are the definitions that this process can run, at least one. Each definition must have a
	// different name or version. Leaders assign only the jobs in Jobs to the process.
	Jobs []jobs.Job

	// Allow names the restricted jobs that this process runs. A restricted job lets its submitter
	// harm the process (see [jobs.Definition]), so each restricted job in Jobs must be named here.
	Allow []string

	// Grant contains what the code of jobs may use: files, containers, programs and sources of
	// objects. With the zero Grant, jobs read no file and no blob, and start no program of a submitter.
	Grant jobs.Grant

	// ID is the worker's ID: 1 to 80 lower-case letters, digits and dashes. Each process must have
	// a different ID. The default ID is the host's name and a random suffix.
	ID string

	// Slots is how many partitions run at the same time. The default of Slots is GOMAXPROCS,
	// because a partition is expected to keep one core busy.
	Slots int

	// Lease is how long the leader's lease lasts without a renewal, at least 100 ms; Azure accepts
	// whole seconds from 15 s to 1 min. All workers of a cluster must use the same Lease; the
	// default is 15 s.
	Lease time.Duration

	// DrainTimeout is how long the process, after it is told to stop, waits for running partitions
	// to end, at least 1 s. Partitions that run longer than DrainTimeout are cancelled, and another
	// worker runs them again. The default DrainTimeout is 20 s, which leaves time for the handover,
	// because Kubernetes by default allows 30 s for stopping.
	DrainTimeout time.Duration

	// Memory is how many bytes of large partials, and of operands and results of merges, the
	// process keeps in memory, at least 64 MiB. Large partials above the limit are moved to
	// SpillDir; if that is not enough, slots wait. What partials leave of Memory, and at most three
	// quarters of it, caches of jobs with rounds use (jobs.Cache). The default of Memory is three quarters of the
	// memory limit of the process's cgroup, or of the machine's memory.
	Memory int64

	// SpillDir is a folder for large partials that do not fit in Memory. The files in SpillDir have
	// no names, so they disappear when the process ends. The default SpillDir is the folder for
	// temporary files.
	SpillDir string

	// LimitMemory sets the memory limit of the Go runtime to Memory. LimitMemory is meant for
	// programs that are only a worker.
	LimitMemory bool

	// MeanTimeBetweenFailures is the average time until a worker's process dies unexpectedly; the
	// default is 6 h, which is typical of spot machines. The leader uses MeanTimeBetweenFailures to
	// decide when workers write large partials to storage, so that a death does not cost too much
	// work.
	MeanTimeBetweenFailures time.Duration

	// MaxWorkers is the largest number of workers that this process admits to the cluster while it leads; further workers
	// are refused until others leave. It bounds the leader's memory, about 25 kB for each worker with 8 slots. All workers
	// of a cluster should have the same MaxWorkers. The default is 10,000, the largest value 100,000.
	MaxWorkers int

	// HTTP is the address, such as ":9464", on which the process serves /healthz, /readyz, /metrics
	// and a page that shows the cluster. If HTTP is empty, the process does not serve HTTP.
	HTTP string

	// HTTPHosts lists further host names that browsers may use in the page's address. IP
	// addresses, localhost, the host's own name and names without a dot are always allowed.
	HTTPHosts []string

	// HTTPToken is a secret of at least 16 bytes that allows actions on the page. A client that
	// sends HTTPToken may cancel, retry and resubmit jobs, requeue poisoned submissions and make the leader step down.
	// If HTTPToken is empty, the page is read-only.
	HTTPToken string

	// Name is the program's name, which NATS shows for the process's connection; the default is
	// "bellwether".
	Name string

	// Version is the program's version in the metric bellwether_build_info, on the page and in the
	// command workers; the default is "(devel)".
	Version string

	// If WatchEvictions is true, the process asks Azure's metadata service every second whether
	// this virtual machine is about to be evicted, redeployed or rebooted. Before an eviction,
	// redeployment or reboot, the process stops as if ctx had ended, and then approves the event.
	// Only one worker per machine should set WatchEvictions. With WatchEvictions, DrainTimeout
	// should be less than 30 s, the time that spot machines get.
	WatchEvictions bool

	// MetadataURL is the address of Azure's metadata service. Only tests change the default of
	// MetadataURL.
	MetadataURL string

	// If PodDeletionCost is true, the process annotates its Kubernetes pod with the amount of work
	// that would be lost if the pod died. When Kubernetes scales a Deployment down, it first
	// deletes the pods with the lowest cost. PodDeletionCost needs Pod, and a service account that
	// may patch pods. If a field or the permission is missing, the process logs what is missing and
	// runs without the annotation.
	PodDeletionCost bool

	// Pod is the Kubernetes pod of the process.
	Pod Pod

	// SetGOMAXPROCS sets GOMAXPROCS of the whole program to Slots + 2 until Run returns.
	// SetGOMAXPROCS is meant for programs that are only a worker.
	// Beside the goroutines of the slots, which may compute for seconds, one goroutine can then
	// handle messages while another one copies the bytes of large partials. A message that had to
	// wait for one of these goroutines would wait up to 10 ms, the time slice of a goroutine. On
	// machines with more cores, the lower number keeps the garbage collector from using the cores of
	// other processes.
	SetGOMAXPROCS bool

	// Logger receives the log, whose lines contain the worker's ID under the key "self"; the
	// default is [slog.Default].
	Logger *slog.Logger
}

// Pod identifies a Kubernetes pod. In a pod, environment variables contain the values.
type Pod struct {
	API       string // URL of the API server: https://KUBERNETES_SERVICE_HOST:KUBERNETES_SERVICE_PORT
	Name      string // name of the pod, which the downward API usually sets as POD_NAME
	Namespace string // namespace of the pod, which the downward API usually sets as POD_NAMESPACE
}

// These are the defaults of fields of Config.
const (
	DefaultLease        = 15 * time.Second
	DefaultDrainTimeout = 20 * time.Second
	DefaultMTBF         = 6 * time.Hour // default of MeanTimeBetweenFailures
	DefaultMaxWorkers   = 10_000
)

// MinMemory is the least value of [Config].Memory.
const MinMemory = 64 << 20

const (
	mostWorkers     = 100_000
	minLease        = 100 * time.Millisecond
	minDrainTimeout = time.Second // a checkpoint takes less than this time
	minMTBF         = time.Minute
)

// ErrConfig marks an error about a field of Config, including the fields of Config.Cluster.
var ErrConfig = cluster.ErrConfig

// configError wraps an error as an [ErrConfig] without changing its text.
type configError struct{ error }

func (e configError) Is(target error) bool { return target == ErrConfig }
func (e configError) Unwrap() error        { return e.error }

func (c Config) withDefaults() Config {
	c.ID = cmp.Or(c.ID, NewID())
	c.Slots = cmp.Or(c.Slots, runtime.GOMAXPROCS(0))
	c.Lease = cmp.Or(c.Lease, DefaultLease)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, DefaultDrainTimeout)
	if c.Memory == 0 {
		c.Memory = DefaultMemory()
	}
	c.MeanTimeBetweenFailures = cmp.Or(c.MeanTimeBetweenFailures, DefaultMTBF)
	c.MaxWorkers = cmp.Or(c.MaxWorkers, DefaultMaxWorkers)
	c.Name = cmp.Or(c.Name, "bellwether")
	c.Version = cmp.Or(c.Version, "(devel)")
	c.MetadataURL = cmp.Or(c.MetadataURL, imds.URL)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// validate checks all fields that can be checked before the process connects.
func (c Config) validate() error {
	if name := c.denied(); name != "" {
		return fmt.Errorf("Jobs: %s is restricted, because its parameters can harm the process that runs it: name it in Allow (--allow, BELLWETHER_ALLOW), or leave it out of Jobs", name)
	}
	if err := c.Grant.Validate(); err != nil {
		return fmt.Errorf("Grant: %w", err)
	}
	return cmp.Or(
		field.Check(len(c.Jobs) > 0, "Jobs", nil, "at least one job"),
		field.Check(wire.ValidWorker(c.ID), "ID", c.ID, wire.WantWorker),
		field.Check(c.Slots >= 1 && c.Slots <= wire.MaxSlots, "Slots", c.Slots, "1 to %d", wire.MaxSlots),
		field.Check(c.Lease >= minLease, "Lease", c.Lease, "at least %v", minLease),
		field.Check(c.DrainTimeout >= minDrainTimeout, "DrainTimeout", c.DrainTimeout, "at least %v", minDrainTimeout),
		field.Check(c.Memory >= MinMemory, "Memory", c.Memory, "at least %d MiB", MinMemory>>20),
		field.Check(isFolder(c.SpillDir), "SpillDir", c.SpillDir, "an existing folder"),
		field.Check(c.MaxWorkers >= 1 && c.MaxWorkers <= mostWorkers, "MaxWorkers", c.MaxWorkers, "1 to %d", mostWorkers),
		field.Check(c.MeanTimeBetweenFailures >= minMTBF, "MeanTimeBetweenFailures", c.MeanTimeBetweenFailures, "at least %v", minMTBF),
	)
}

// isFolder reports whether a path is that of a folder, or empty.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return path == "" || err == nil && info.IsDir()
}

// denied returns the name of a restricted job that Allow does not name, or "".
func (c Config) denied() string {
	for _, job := range c.Jobs {
		if job.Restricted() && !slices.Contains(c.Allow, job.Name()) {
			return job.Name()
		}
	}
	return ""
}

// NewID returns a unique worker ID: the host's name, which people recognize, and a random suffix.
func NewID() string {
	var suffix [4]byte
	_, _ = rand.Read(suffix[:]) // Read never returns an error: see crypto/rand
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return '-'
	}, strings.ToLower(hostname()))
	name = strings.Trim(name[:min(len(name), 60)], "-")
	return cmp.Or(name, "worker") + "-" + hex.EncodeToString(suffix[:])
}

// hostname returns the host's name, or "" if it is unknown.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
