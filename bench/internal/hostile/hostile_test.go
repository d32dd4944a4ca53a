//go:build unix

package hostile

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	jobscluster "github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

var all = flag.Bool("hostile.all", false, "run each misdeed of each function, on both storages")

// TestMain lets the test binary run as the program of the workers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		debug.SetMaxStack(maxStack)
		limitMemory()
		cli.Main(known...)
	}
	goleak.VerifyTestMain(azuritetest.StopAfter(m))
}

// testCase is a function and its misdeed.
type testCase struct{ function, misdeed string }

func (c testCase) String() string { return c.function + " " + c.misdeed }

// kills reports whether the misdeed ends the process.
func (c testCase) kills() bool {
	return slices.Contains([]string{exit, crash, overflow, allocate}, c.misdeed)
}

// completes reports whether the job completes although a function misbehaves. A slow function does
// not fail, and Close runs after the job's end.
func (c testCase) completes() bool { return c.misdeed == slow || c.function == closed }

// quick lists the cases of the default tests: one case for each mechanism of protection.
var quick = []testCase{
	{plan, exit},
	{root, allocate}, // kills the worker during a call, and also the leader
	{finish, hang},
	{mapOne, hang}, // case that blocks slots forever
	{mapOne, goexit},
	{finish, goexit},
	{open, garbage},
	{encode, garbage},
	{closed, garbage},
}

// cases returns the cases that kill processes, or the cases that do not.
func cases(kills bool) (list []testCase) {
	list = slices.Clone(quick)
	if *all {
		list = nil
		for _, m := range misdeeds {
			for _, f := range functions {
				list = append(list, testCase{f, m})
			}
		}
	}
	return slices.DeleteFunc(list, func(c testCase) bool { return c.kills() != kills })
}

// reasons contains patterns for the description of each misdeed in a failed job's error.
var reasons = map[string]string{
	exit: "kills its worker|died", crash: "kills its worker|died",
	overflow: "kills its worker|died", allocate: "kills its worker|died",
	goexit: `runtime\.Goexit`, hang: "limit of 1s",
}

// names contains patterns for the name of each function in a failed job's error.
var names = map[string]string{
	plan: "Plan", open: "Open", fork: "Fork", mapOne: "Map", merge: "(?i)merge", root: "(?i)merge",
	finish: "Finish", encode: "(?i)encod", decode: "(?i)decod",
}

// named returns the pattern for the function's name in a failed job's error.
func (c testCase) named() string {
	pattern := names[c.function]
	switch {
	case c.function == decode && c.misdeed != garbage:
		return pattern + "|Merge|Finish" // the call that decoded its operands may be named instead
	case c.misdeed == garbage && (c.function == mapOne || c.function == encode || c.function == decode):
		return "(?i)encod|decod" // the function that detected the invalid value may be named instead
	}
	return pattern
}

const (
	// atLeast is the minimum speed of the steady job during a case, as a share of its normal speed.
	atLeast = 0.5
	// window is the shortest interval over which the speed is measured.
	window = 1500 * time.Millisecond
	// cancelWithin is the largest allowed median duration of the cancellations in a case.
	// cancelAtMost is the largest allowed duration of one cancellation, even on a loaded machine.
	cancelWithin = 2 * time.Second
	cancelAtMost = 5 * time.Second
	// maxDeaths is the largest number of processes that a job may kill before the job fails.
	maxDeaths = 5
)

func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, on := range []jobscluster.StorageKind{jobscluster.JetStream, jobscluster.Azure} {
		if on == jobscluster.Azure && !*all {
			continue
		}
		for name, kills := range map[string]bool{"survivors": false, "deaths": true} {
			t.Run(string(on)+" "+name, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, on, name)
				baseline := c.speed(c.during(window))
				for _, tc := range cases(kills) {
					t.Run(tc.String(), func(t *testing.T) {
						c.t = t
						c.check(tc, baseline)
					})
				}
				if !kills {
					t.Run("plan hang everywhere", func(t *testing.T) {
						c.t = t
						c.checkHungEverywhere()
					})
				}
				c.t = t
				c.awaitWorkers()
				c.checkSteady()
				c.terminate(t)
			})
		}
	}
}

// sample is the progress of the steady job at one moment.
type sample struct {
	at   time.Time
	done uint64
}

// sample waits until the leader reports the progress of the steady job.
func (c *cluster) sample() (s sample) {
	c.t.Helper()
	c.until("the leader knows the steady job", func() bool {
		s = sample{time.Now(), c.done()}
		return s.done > 0
	})
	return s
}

// during returns samples at the beginning and at the end of the interval d.
func (c *cluster) during(d time.Duration) (from, to sample) {
	c.t.Helper()
	from = c.sample()
	time.Sleep(d)
	return from, c.sample()
}

// speed returns the partitions per second between two samples.
func (c *cluster) speed(from, to sample) float64 {
	return float64(to.done-min(to.done, from.done)) / to.at.Sub(from.at).Seconds()
}

// check runs a hostile job while the steady job runs and other jobs are cancelled.
func (c *cluster) check(tc testCase, baseline float64) {
	t := c.t
	t.Helper()
	deaths, logged := len(c.died(0)), len(c.log.String())
	job := hostile
	if tc.misdeed == slow {
		job = patient
	}
	from := c.sample()
	id := c.submit(job, orders{Function: tc.function, Misdeed: tc.misdeed}, 0)
	ctx, ended := context.WithCancel(t.Context())
	var cancels []time.Duration
	var cancelling sync.WaitGroup
	cancelling.Go(func() { cancels = c.cancelMany(ctx) })
	var status client.Status
	final := c.within(patience, func() bool {
		s, err := c.client.Status(t.Context(), id)
		if err == nil {
			status = s
		}
		return err == nil && s.State.Final()
	})
	took := time.Since(from.at)
	time.Sleep(max(0, window-took))
	to := c.sample()
	ended()
	cancelling.Wait()
	died := c.died(deaths)

	ratio := c.speed(from, to) / baseline
	if tc.kills() || tc.misdeed == hang {
		if tc.misdeed == hang {
			c.terminate(t, 4) // first workers with code that does not return get SIGTERM, and then workers with all their slots
		}
		c.awaitWorkers()
	}
	if ratio < atLeast { // the machine may have become slower
		ratio = c.speed(from, to) / min(baseline, c.speed(c.during(window)))
	}
	slices.Sort(cancels)
	median := cancels[len(cancels)/2]
	t.Logf("%v in %v, %d deaths, the other job at %.2f of its speed, %d cancellations in %v, at most %v: %s", status.State,
		took.Round(time.Millisecond), len(died), ratio, len(cancels), median.Round(time.Millisecond),
		cancels[len(cancels)-1].Round(time.Millisecond), firstLine(status.Error))

	c.checkEnd(tc, final, status)
	if ratio < atLeast {
		t.Errorf("the other job went on at %.2f of its speed, want %v", ratio, atLeast)
	}
	if median > cancelWithin || cancels[len(cancels)-1] > cancelAtMost {
		t.Errorf("cancellations took %v: want a median of at most %v and no more than %v", cancels, cancelWithin, cancelAtMost)
	}
	if len(died) > maxDeaths || !tc.kills() && tc.misdeed != hang && len(died) > 0 {
		t.Errorf("%d processes died: %v", len(died), died)
	}
	if said := "Could not close a job"; tc.function == closed && tc.misdeed == garbage {
		c.until("a worker has logged: "+said, func() bool { return strings.Contains(c.log.String()[logged:], said) })
	}
	if t.Failed() {
		t.Logf("logs of the workers during this case:\n%s", c.log.String()[logged:])
	}
}

// checkHungEverywhere lets Plan hang in all slots of all workers, for the default limit of 10 min. The
// status of another job says what it waits for, and the job completes long before the limit.
func (c *cluster) checkHungEverywhere() {
	t := c.t
	t.Helper()
	var hung []string
	for range workers*slots + 1 {
		hung = append(hung, c.submit(patient, orders{Function: plan, Misdeed: hang}, 0))
	}
	waits := regexp.MustCompile(fmt.Sprintf(`^waits: %[1]d of %[1]d slots run Plan of jobs .* for [0-9ms]+$`, workers*slots))
	trouble := ""
	c.until("a job waits for hung calls", func() bool {
		return slices.ContainsFunc(hung, func(id string) bool {
			s, err := c.client.Status(t.Context(), id)
			if err == nil && s.Live != nil {
				trouble = s.Live.Trouble
			}
			return waits.MatchString(trouble)
		})
	})
	id := c.submit(patient, orders{}, 0)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	if s, err := c.client.Wait(ctx, id); err != nil || s.State != store.Completed {
		t.Errorf("the other job is %s: %s, %v", s.State, s.Error, err)
	}
	t.Logf("another job %q, and completed after %v", trouble, time.Since(began).Round(time.Millisecond))
	for _, id := range hung {
		if err := c.client.Cancel(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	c.terminate(t, 4)
}

// checkEnd checks the final status of a hostile job.
func (c *cluster) checkEnd(tc testCase, final bool, status client.Status) {
	t := c.t
	t.Helper()
	switch {
	case !final:
		trouble := ""
		if status.Live != nil {
			trouble = status.Live.Trouble
		}
		t.Errorf("the job is %s after %v: %s", status.State, patience, trouble)
		if err := c.client.Cancel(t.Context(), status.ID); err != nil {
			t.Error(err)
		}
	case tc.completes():
		if status.State != store.Completed {
			t.Errorf("the job is %s (%s), want completed", status.State, status.Error)
		}
	case status.State != store.Failed:
		t.Errorf("the job is %s, want failed", status.State)
	default:
		for _, want := range []string{tc.named(), reasons[tc.misdeed]} {
			if !regexp.MustCompile(want).MatchString(status.Error) {
				t.Errorf("the job's error does not match %q: %s", want, status.Error)
			}
		}
	}
}

// cancelMany submits and cancels jobs until ctx is done, but at least one job, and returns the
// durations of the cancellations.
func (c *cluster) cancelMany(ctx context.Context) (list []time.Duration) {
	for len(list) == 0 || ctx.Err() == nil {
		id, err := c.client.Submit(c.t.Context(), steady, client.SubmitOptions{Params: steadyParams{Partitions: steadyPartitions}, Priority: -1})
		if err != nil {
			c.t.Errorf("submit a third job: %v", err)
			return append(list, 0)
		}
		c.within(patience, func() bool {
			_, err := c.client.Progress(c.t.Context(), id)
			return err == nil
		})
		began := time.Now()
		if err := c.client.Cancel(c.t.Context(), id); err != nil {
			c.t.Errorf("cancel a third job: %v", err)
		}
		list = append(list, time.Since(began))
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return list
}

// checkSteady releases the steady job and checks its result.
func (c *cluster) checkSteady() {
	t := c.t
	t.Helper()
	if err := os.WriteFile(c.release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := c.client.Wait(ctx, c.steady); err != nil {
		t.Fatalf("the other job: %v", err)
	}
	got, err := c.client.Outcome(ctx, c.steady)
	if err != nil {
		t.Fatal(err)
	}
	params, err := json.Marshal(c.steadyParams())
	if err != nil {
		t.Fatal(err)
	}
	want, err := jobs.Local{Slots: 1, Attempts: 1}.Run(ctx, steady, params)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Result) != string(want.Result) {
		t.Errorf("the other job: got %s, alone it gives %s", got.Result, want.Result)
	}
	t.Logf("the other job: %d partitions, %d repeated, epochs %v; deaths: %s", got.Partitions, got.Repeated, got.Epochs, fmt.Sprint(c.died(0)))
}
