package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/bench/internal/manykeys"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/scan"
)

// ScanGroups is the configuration of the scan with many groups, whose rows are written to objects.
type ScanGroups struct {
	Keys uint64 // number of keys, each in one row

	// Cluster is a client of a cluster whose workers are the processes of Flock. The workers know
	// the job scan and may read and write files in the folder of the input.
	Cluster *client.Client
	Flock   *procs.Supervisor
	Workers int
}

// ScanGroupsReport compares the count and the sum of a column for each key in a cluster with a plain loop, which has all groups
// in the memory of one process. Times are in seconds, from the submission to the durable result.
type ScanGroupsReport struct {
	Keys     uint64  `json:"keys"`
	Bytes    int64   `json:"bytes"` // size of the input
	Workers  int     `json:"workers"`
	Cluster  float64 `json:"cluster_s"`
	Killed   float64 `json:"killed_s"` // with the leader killed when half of the first pass is done
	Loop     float64 `json:"loop_s"`
	Resident uint64  `json:"resident_bytes"` // largest resident memory of a worker's process
}

// scanGroups runs the job without a fault and with the leader killed, and the loop, in turns. It fails if the results or the rows
// differ.
func (c ScanConfig) scanGroups(ctx context.Context) (r *ScanGroupsReport, err error) {
	g := c.Groups
	input, folder := filepath.Join(filepath.Dir(c.File), "keys.csv"), filepath.Join(filepath.Dir(c.File), "groups")
	defer func() { err = errors.Join(err, os.RemoveAll(input), os.RemoveAll(folder)) }()
	r = &ScanGroupsReport{Keys: g.Keys, Workers: g.Workers}
	if r.Bytes, err = manykeys.Write(input, g.Keys); err != nil {
		return r, err
	}
	job := jobs.MustNew(scan.Definition)
	params, err := job.Params(nil, "input="+input, "by=key", "aggregate=count,sum(n)", "output="+folder)
	if err != nil {
		return r, err
	}
	c.Progress("scan with many groups in one process", 0, 0)
	want, err := granted(ctx, c.grant(), job, params, func(uint64, uint64) {})
	if err != nil {
		return r, err
	}
	rows, err := manykeys.Read(folder)
	if err != nil {
		return r, err
	}
	a := &aggregation{AggregateConfig{Cluster: g.Cluster, Flock: g.Flock, Workers: g.Workers}, job, c.Slots}
	var times [3][]float64
	for round := range c.Rounds {
		c.Progress("scan with many groups", uint64(round), uint64(c.Rounds))
		for i, victim := range []Victim{KillNobody, KillLeader} {
			if err := os.RemoveAll(folder); err != nil {
				return r, err
			}
			run, err := a.runCluster(ctx, params, want, victim)
			if err != nil {
				return r, err
			}
			for _, p := range run.processes {
				if p.Role != roleNATS {
					r.Resident = max(r.Resident, p.Resident)
				}
			}
			times[i] = append(times[i], run.seconds)
			if got, err := manykeys.Read(folder); err != nil || got != rows {
				return r, fmt.Errorf("the cluster has written %+v, a run in one process %+v: %w", got, rows, err)
			}
		}
		began := time.Now()
		if err := groupByHand(input, folder+".csv", c.Slots); err != nil {
			return r, err
		}
		times[2] = append(times[2], time.Since(began).Seconds())
		got, err := manykeys.Read(folder + ".csv")
		if err = errors.Join(err, os.Remove(folder+".csv")); err != nil || got != rows {
			return r, fmt.Errorf("the loop has written %+v, the job %+v: %w", got, rows, err)
		}
	}
	r.Cluster, r.Killed, r.Loop = Median(times[0]), Median(times[1]), Median(times[2])
	return r, nil
}

// groupByHand writes the count and the sum of each key of a file of manykeys.Write, as a plain loop does that has memory for all of
// them: each goroutine reads the file, and keeps its share of the keys in a map.
func groupByHand(input, to string, slots int) error {
	type total struct{ count, sum uint64 }
	tables := make([]map[string]total, slots)
	var group errgroup.Group
	for i := range tables {
		tables[i] = map[string]total{}
		group.Go(func() error {
			f, err := os.Open(input)
			if err != nil {
				return err
			}
			defer f.Close()
			scanner := bufio.NewScanner(f)
			scanner.Scan()
			for scanner.Scan() {
				key, number, _ := bytes.Cut(scanner.Bytes(), []byte{','})
				if int(key[len(key)-1])%slots != i {
					continue
				}
				n, err := strconv.ParseUint(string(number), 10, 64)
				if err != nil {
					return err
				}
				t := tables[i][string(key)]
				tables[i][string(key)] = total{t.count + 1, t.sum + n}
			}
			return scanner.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	line := []byte("key,count,sum(n)\n")
	_, err = w.Write(line)
	for _, table := range tables {
		for key, t := range table {
			line = strconv.AppendUint(append(append(line[:0], key...), ','), t.count, 10)
			line = append(strconv.AppendUint(append(line, ','), t.sum, 10), '\n')
			if err == nil {
				_, err = w.Write(line)
			}
		}
	}
	return errors.Join(err, w.Flush(), f.Close())
}

func (r *ScanGroupsReport) table(w io.Writer) {
	fmt.Fprintf(w, "\n%s keys in %s, to objects; %d workers with one slot each\n\n", about(float64(r.Keys)), humanize.IBytes(uint64(r.Bytes)), r.Workers)
	fmt.Fprintf(w, "scan in the cluster\t%.2f s\t%s in the largest worker\n", r.Cluster, humanize.IBytes(r.Resident))
	fmt.Fprintf(w, "with the leader killed half-way\t%.2f s\t%+.2f s\tthe same bytes\n", r.Killed, r.Killed-r.Cluster)
	fmt.Fprintf(w, "loop by hand, all groups in memory\t%.2f s\n", r.Loop)
}
