package bench

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/machine"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

// scanFlags are the flags of the command scan.
type scanFlags struct {
	benchmark
	cfg     bench.ScanConfig
	dir     string
	blobs   int
	kill    bool
	keys    uint64
	memory  string
	workers int
}

func scanCommand(a *console.App) *cobra.Command {
	var f scanFlags
	cmd := &cobra.Command{
		Use:   "scan",
		Short: "Measure the job scan beside a loop written by hand",
		Long: `Measure the job scan: the minimum, mean and maximum of a column by 413 keys, in a CSV
file that this command writes and removes. Beside it, a loop that is written by hand for
this one query reads the same file, with as many goroutines. Both run in this process, so
the figures are without a cluster.

With --blobs, this command also starts Azurite, and measures a scan of blobs of 32 MB beside
a plain download of the blobs with as many goroutines. Azurite, the download and the scan
share this machine's processors, so the processor time of the scan and of Azurite bounds the
speed of the scan. The last line gives this bound: the speed of the scan if it and Azurite
kept all processors busy. The rows are short. With --columns 8 they have about 100 bytes, as
in many logs, and the scan needs less processor time for each byte.

With --kill-leader, this command also starts a cluster of worker processes with one slot
each, and measures the job in the cluster without a fault, and with the leader killed when
half of the partitions are done. Both results must have the same bytes.

With --keys, this command also writes a file in which each row has another key. A cluster of
worker processes, with one slot and --memory each, computes the count and the sum of a column
by key, and writes the rows to files: without a fault, and with the leader killed. Beside it,
a loop that is written by hand keeps all keys in the memory of one process.`,
		Example: "  " + a.Name + " bench scan --rows 100000000\n" +
			"  " + a.Name + " bench scan --blobs 64 --columns 8\n" +
			"  " + a.Name + " bench scan --kill-leader\n" +
			"  " + a.Name + " bench scan --rows 1000000 --keys 50000000 --workers 2",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			folder, err := os.MkdirTemp(f.dir, "bellwether-scan-*")
			if err != nil {
				return err
			}
			defer os.RemoveAll(folder)
			_, err = measure(cmd.Context(), a, &f.benchmark, func(ctx context.Context, tell tell) (bench.ScanReport, error) {
				return f.run(ctx, a, folder, tell)
			})
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.register(cmd)
	return cmd
}

func (f *scanFlags) register(cmd *cobra.Command) {
	f.benchmark.register(cmd)
	cmd.Flags().Uint64Var(&f.cfg.Rows, "rows", 10_000_000, "rows of the file, about 16 bytes each")
	cmd.Flags().IntVar(&f.cfg.Between, "columns", 0, "other columns between the key and the number, 10 bytes each")
	cmd.Flags().IntVar(&f.cfg.Slots, "slots", runtime.GOMAXPROCS(0), "slots of the scan, and goroutines of the loop")
	cmd.Flags().IntVar(&f.cfg.Rounds, "rounds", 3, "number of measurements, of which the median is printed")
	cmd.Flags().IntVar(&f.blobs, "blobs", 0, "also measure a scan of this number of blobs of 32 MB")
	cmd.Flags().BoolVar(&f.kill, "kill-leader", false, "also measure a scan in a cluster whose leader is killed")
	cmd.Flags().Uint64Var(&f.keys, "keys", 0, "also measure a scan with this number of groups")
	cmd.Flags().StringVar(&f.memory, "memory", "1GiB", "memory of each worker process, with --keys")
	cmd.Flags().IntVar(&f.workers, "workers", 3, "number of worker processes, with --kill-leader or --keys")
	cmd.Flags().StringVar(&f.dir, "dir", "", "folder for the file (default that for temporary files)")
	console.CompleteFolders(cmd, "dir")
}

// check returns an error if a flag is out of range.
func (f *scanFlags) check() error {
	return cmp.Or(
		between("rows", f.cfg.Rows, 1, 10_000_000_000),
		between("columns", f.cfg.Between, 0, 1000),
		between("slots", f.cfg.Slots, 1, mostProcesses),
		between("rounds", f.cfg.Rounds, 1, mostRounds),
		between("blobs", f.blobs, 0, mostBlobs),
		between("keys", f.keys, 0, 1_000_000_000),
		between("workers", f.workers, 2, mostProcesses),
		f.checkAlone(),
		f.benchmark.check(),
	)
}

// run starts the servers and workers that the flags select, which keep their files in a folder, and
// measures.
func (f *scanFlags) run(ctx context.Context, a *console.App, folder string, tell tell) (r bench.ScanReport, err error) {
	cfg := f.cfg
	cfg.File, cfg.Progress = filepath.Join(folder, "measurements.csv"), tell
	if f.blobs > 0 {
		tell("starting Azurite", 0, 0)
		server, err := startBlobs(ctx, a, &f.benchmark, folder)
		if err != nil {
			return r, err
		}
		defer server.close()
		cfg.Blobs = &bench.ScanBlobs{Cluster: server.cluster, Server: server.azurite.PID(), Count: f.blobs, Size: blobSize}
	}
	if f.kill || f.keys > 0 {
		tell("starting the workers", 0, 0)
		g, err := startFlock(ctx, a, &f.benchmark, f.workers, 1, "--files", folder, "--memory", f.memory)
		if err != nil {
			return r, err
		}
		defer g.close()
		if f.kill {
			cfg.Failover = &bench.ScanFailover{Cluster: g.client, Flock: g.workers, Workers: f.workers}
		}
		if f.keys > 0 {
			cfg.Groups = &bench.ScanGroups{Keys: f.keys, Cluster: g.client, Flock: g.workers, Workers: f.workers}
		}
	}
	return bench.Scan(ctx, cfg)
}

const (
	mostBlobs = 10_000
	blobSize  = 32_000_000
)

// blobServer is an Azurite process that serves a storage account.
type blobServer struct {
	azurite *azurite.Server
	cluster cluster.Config // configuration with the account
	log     *slog.Logger
}

// startBlobs starts Azurite, which keeps its data below dir.
func startBlobs(ctx context.Context, a *console.App, b *benchmark, dir string) (*blobServer, error) {
	log, err := b.log.Logger(a)
	if err != nil {
		return nil, err
	}
	s := &blobServer{log: log}
	if s.azurite, err = machine.StartAzurite(ctx, a, dir, log); err != nil {
		return nil, err
	}
	s.cluster.Azure.ConnectionString = s.azurite.ConnectionString()
	return s, nil
}

func (s *blobServer) close() {
	if err := s.azurite.Stop(); err != nil {
		s.log.Warn("Could not stop Azurite", "error", err)
	}
}
