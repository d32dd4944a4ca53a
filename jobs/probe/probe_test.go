package probe

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"go.uber.org/goleak"
)

// TestMain runs the job probe if TestExit has started the process.
func TestMain(m *testing.M) {
	if pairs := os.Getenv("PROBE_TEST_RUN"); pairs != "" {
		result, err := run(context.Background(), 1, strings.Fields(pairs)...)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(result.Counted)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func run(ctx context.Context, attempts int, pairs ...string) (r Result, err error) {
	job, err := jobs.New(Definition)
	if err != nil {
		return r, err
	}
	params, err := job.Params(nil, pairs...)
	if err != nil {
		return r, err
	}
	done, err := jobs.Local{Slots: 2, Attempts: attempts}.Run(ctx, job, params)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(done.Result, &r)
}

func mustRun(t *testing.T, pairs ...string) Result {
	t.Helper()
	r, err := run(context.Background(), 1, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResultAccountsForEachPartition(t *testing.T) {
	const n, size = 1000, 37
	var sum, xor uint64
	block := make([]byte, size)
	for i := range uint64(n) {
		sum += hash(i)
		xor ^= hash(i)
		for j := range block {
			block[j] ^= newBlock(hash(i), size)[j]
		}
	}
	digest := sha256.Sum256(block)
	want := Result{
		Partitions: n, Counted: n, Size: size, Block: hex.EncodeToString(digest[:]),
		Sum: fmt.Sprintf("%016x", sum), Xor: fmt.Sprintf("%016x", xor),
	}
	if got := mustRun(t, "partitions=1000", "partial-size=37"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want.Size, want.Block = 0, ""
	if got := mustRun(t, "partitions=1000"); got != want {
		t.Errorf("without blocks got %+v, want %+v", got, want)
	}
}

// TestHashIsSplitMix64 uses the first outputs of SplitMix64 with seed 1234567, which Rosetta Code
// lists in "Pseudo-random numbers/Splitmix64".
func TestHashIsSplitMix64(t *testing.T) {
	const seed, increment = 1234567, 0x9e3779b97f4a7c15
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := hash(seed + uint64(i)*increment); got != want {
			t.Errorf("output %d is %d, want %d", i, got, want)
		}
	}
}

func TestMergeShowsWhatCountsTwice(t *testing.T) {
	one, two := newPartial(1, 16), newPartial(2, 16)
	right, err := merge(newPartial(1, 16), two)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := merge(one, newPartial(1, 16))
	if err != nil {
		t.Fatal(err)
	}
	if right.Sum == wrong.Sum || right.Xor == wrong.Xor || bytes.Equal(right.block(), wrong.block()) {
		t.Errorf("%+v and %+v should differ throughout", right, wrong)
	}
	if _, err := merge(newPartial(1, 8), newPartial(2, 9)); err == nil {
		t.Error("blocks of two sizes were merged")
	}
}

func TestPlanIsImmediate(t *testing.T) {
	job := jobs.MustNew(Definition)
	for _, n := range []string{"1e9", "4611686018427387904"} {
		params, err := job.Params(nil, "partitions="+n)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Plan(context.Background(), params); err != nil {
			t.Errorf("a plan of %s partitions: %v", n, err)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		pair      string
		permanent bool
		panics    bool
	}{
		{"fail=7", false, false},
		{"fail-every=5", false, false},
		{"permanent=7", true, false},
		{"panic=7", false, true},
	} {
		_, err := run(context.Background(), 3, "partitions=10", c.pair)
		var panicked *jobs.PanicError
		if err == nil || jobs.IsPermanent(err) != c.permanent || errors.As(err, &panicked) != c.panics {
			t.Errorf("%s: %v", c.pair, err)
		}
	}
}

func TestFaultsThatPass(t *testing.T) {
	want := mustRun(t, "partitions=10")
	for _, pair := range []string{"fail=7", "fail-every=5", "panic=7"} {
		once := "once-dir=" + t.TempDir()
		if _, err := run(context.Background(), 2, "partitions=10", pair, once, "times=2"); err == nil {
			t.Errorf("%s: two attempts passed, where two were to fail", pair)
		}
		if got, err := run(context.Background(), 2, "partitions=10", pair, once, "times=2"); pair != "fail-every=5" && (got != want || err != nil) {
			t.Errorf("%s: third attempt: %+v: %v, want %+v", pair, got, err, want)
		}
		once = "once-dir=" + t.TempDir()
		if got, err := run(context.Background(), 3, "partitions=10", pair, once, "times=2"); got != want || err != nil {
			t.Errorf("%s: three attempts: %+v: %v, want %+v", pair, got, err, want)
		}
	}
}

func TestExit(t *testing.T) {
	start := func(pairs string) (string, error) {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), "PROBE_TEST_RUN="+pairs)
		out, err := command.Output()
		return strings.TrimSpace(string(out)), err
	}
	pairs := "partitions=10 exit=4 times=2 once-dir=" + t.TempDir()
	for attempt := range 2 {
		_, err := start(pairs)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitStatus {
			t.Errorf("attempt %d: %v, want exit status %d", attempt, err, exitStatus)
		}
	}
	if out, err := start(pairs); out != "10" || err != nil {
		t.Errorf("third attempt: %q: %v", out, err)
	}
}

func TestRefusedParams(t *testing.T) {
	for _, c := range []struct{ pair, want string }{
		{"fail=10", "parameter fail: got 10, takes -1 or a partition, 0 to 9"},
		{"exit=-2", "parameter exit: got -2, takes an integer, at least -1"},
		{"partitions=0", "parameter partitions"},
		{"once-dir=/nowhere/at/all", "parameter once-dir"},
	} {
		if _, err := run(context.Background(), 1, "partitions=10", c.pair); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.pair, err, c.want)
		}
	}
}

func TestSleepIsUneven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := open(t.Context(), Params{Sleep: time.Second, CostEvery: 3, CostFactor: 5, Fail: -1, Permanent: -1, Panic: -1, Exit: -1}, jobs.Plan{})
		if err != nil {
			t.Fatal(err)
		}
		for partition, want := range []time.Duration{5, 1, 1, 5} {
			started := time.Now()
			if _, err := m.Map(t.Context(), uint64(partition)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(started); took != want*time.Second {
				t.Errorf("partition %d took %v, want %v s", partition, took, want)
			}
		}
	})
}

func TestSpinLasts(t *testing.T) {
	started := time.Now()
	mustRun(t, "partitions=1", "spin=3ms")
	if took := time.Since(started); took < 3*time.Millisecond {
		t.Errorf("spun for %v", took)
	}
}

func TestDoneContextEndsPartitions(t *testing.T) {
	for _, pair := range []string{"spin=1h", "sleep=1h"} {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		if _, err := run(ctx, 1, pair); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", pair, err)
		}
		cancel()
	}
}

// BenchmarkEmptyPartitions measures partitions that do nothing in one slot. One operation is one
// partition.
func BenchmarkEmptyPartitions(b *testing.B) {
	job := jobs.MustNew(Definition)
	params, err := job.Params(nil, "partitions=1e18")
	if err != nil {
		b.Fatal(err)
	}
	task, err := job.Engine().Open(context.Background(), params, 1e18, nil)
	if err != nil {
		b.Fatal(err)
	}
	s := task.NewStack()
	b.ResetTimer()
	if _, err := s.Run(context.Background(), jobs.Span{Hi: uint64(b.N)}, new(atomic.Bool)); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "partitions/s")
}
