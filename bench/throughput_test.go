package bench_test

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkEmptyPartitions counts partitions that do nothing, from submission
// into a durable result.
func BenchmarkEmptyPartitions(b *testing.B) {
	f := startFleet(b, 2, false)
	const partitions = 100_000_000
	var rates []float64
	for b.Loop() {
		o := f.run("probe", fmt.Sprint("partitions=", partitions))
		if o.State != "completed" {
			b.Fatalf("job is %s", o.State)
		}
		b.Logf("%d partitions in %v", partitions, o.took())
		rates = append(rates, partitions/o.took().Seconds())
	}
	b.ReportMetric(median(rates), "partitions/s")
}

// BenchmarkLeaderMemory watches the leader's resident memory, that of the worker
// in the same process included, through a job of a billion partitions.
func BenchmarkLeaderMemory(b *testing.B) {
	for _, partitions := range []uint64{1_000_000, 1_000_000_000} {
		b.Run(fmt.Sprint(partitions), func(b *testing.B) {
			f := startFleet(b, 2, false)
			var leader struct{ PID int }
			f.must(&leader, "leader")
			for b.Loop() {
				done := make(chan outcome, 1)
				go func() { done <- f.run("probe", fmt.Sprint("partitions=", partitions)) }()
				most := int64(0)
				for running := true; running; {
					select {
					case o := <-done:
						running = false
						if o.State != "completed" {
							b.Fatalf("job is %s", o.State)
						}
					case <-time.After(20 * time.Millisecond):
					}
					most = max(most, residentBytes(b, leader.PID))
				}
				b.ReportMetric(float64(most)/(1<<20), "leader-MiB")
			}
		})
	}
}

// residentBytes reads a process' resident memory; on systems without /proc the
// benchmark cannot run.
func residentBytes(b *testing.B, pid int) int64 {
	b.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, found := strings.CutPrefix(lines.Text(), "VmRSS:"); found {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	b.Fatalf("process %d has no VmRSS", pid)
	return 0
}
