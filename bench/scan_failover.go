package bench

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// ScanFailover is the configuration of the scan during which the leader is killed.
type ScanFailover struct {
	// Cluster is a client of a cluster whose workers are the processes of Flock. The workers know
	// the job scan and may read the file.
	Cluster *client.Client
	Flock   *procs.Supervisor
	Workers int
}

// ScanFailoverReport compares scans in a cluster with and without the death of the leader. Times
// are in seconds, from the submission to the durable result.
type ScanFailoverReport struct {
	Workers  int     `json:"workers"`
	Calm     float64 `json:"calm_s"`   // median of the rounds without a fault
	Killed   float64 `json:"killed_s"` // median of the rounds in which the leader was killed when half of the partitions were done
	Extra    float64 `json:"extra_s"`  // median of the rounds' differences
	Repeated uint64  `json:"repeated"` // executions of partitions that were repeated, in all rounds
}

// scanFailover runs the job without a fault and with the leader killed half-way, in turns. It fails if the bytes of
// the results differ.
func (c ScanConfig) scanFailover(ctx context.Context) (*ScanFailoverReport, error) {
	job, params, err := scanJob(c.File)
	if err != nil {
		return nil, err
	}
	want, err := granted(ctx, c.grant(), job, params, func(uint64, uint64) {})
	if err != nil {
		return nil, err
	}
	f := c.Failover
	a := &aggregation{AggregateConfig{Cluster: f.Cluster, Flock: f.Flock, Workers: f.Workers}, job, c.Slots}
	r := &ScanFailoverReport{Workers: f.Workers}
	var calm, killed, extra []float64
	for round := range c.Rounds {
		c.Progress("scan in a cluster", uint64(round), uint64(c.Rounds))
		undisturbed, err := a.runCluster(ctx, params, want, KillNobody)
		if err != nil {
			return nil, err
		}
		disturbed, err := a.runCluster(ctx, params, want, KillLeader)
		if err != nil {
			return nil, err
		}
		if disturbed.epochs < 2 {
			return nil, errors.New("the job had only one leader")
		}
		r.Repeated += disturbed.repeated
		calm, killed, extra = append(calm, undisturbed.seconds), append(killed, disturbed.seconds), append(extra, disturbed.seconds-undisturbed.seconds)
	}
	r.Calm, r.Killed, r.Extra = Median(calm), Median(killed), Median(extra)
	return r, nil
}

func (r *ScanFailoverReport) table(w io.Writer) {
	fmt.Fprintf(w, "\n%d workers with one slot each\n\n", r.Workers)
	fmt.Fprintf(w, "scan in the cluster\t%.2f s\n", r.Calm)
	fmt.Fprintf(w, "with the leader killed half-way\t%.2f s\t%+.2f s\tthe same bytes, %d partitions repeated\n", r.Killed, r.Extra, r.Repeated)
}
