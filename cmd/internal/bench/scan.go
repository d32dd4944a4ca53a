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

func scanCommand(a *console.App) *cobra.Command {
	var (
		b   benchmark
		dir string
		cfg bench.ScanConfig

		blobs   int
		kill    bool
		workers int
	)
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
half of the partitions are done. Both results must have the same bytes.`,
		Example: "  " + a.Name + " bench scan --rows 100000000\n" +
			"  " + a.Name + " bench scan --blobs 64 --columns 8\n" +
			"  " + a.Name + " bench scan --kill-leader",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := cmp.Or(
				between("rows", cfg.Rows, 1, 10_000_000_000),
				between("columns", cfg.Between, 0, 1000),
				between("slots", cfg.Slots, 1, mostProcesses),
				between("rounds", cfg.Rounds, 1, mostRounds),
				between("blobs", blobs, 0, mostBlobs),
				between("workers", workers, 2, mostProcesses),
				b.checkAlone(),
				b.check(),
			)
			if err != nil {
				return err
			}
			folder, err := os.MkdirTemp(dir, "bellwether-scan-*")
			if err != nil {
				return err
			}
			defer os.RemoveAll(folder)
			_, err = measure(cmd.Context(), a, &b, func(ctx context.Context, tell tell) (bench.ScanReport, error) {
				cfg.File, cfg.Progress = filepath.Join(folder, "measurements.csv"), tell
				if blobs > 0 {
					tell("starting Azurite", 0, 0)
					server, err := startBlobs(ctx, a, &b, folder)
					if err != nil {
						return bench.ScanReport{}, err
					}
					defer server.close()
					cfg.Blobs = &bench.ScanBlobs{Cluster: server.cluster, Server: server.azurite.PID(), Count: blobs, Size: blobSize}
				}
				if kill {
					tell("starting the workers", 0, 0)
					g, err := startFlock(ctx, a, &b, workers, 1, "--files", folder)
					if err != nil {
						return bench.ScanReport{}, err
					}
					defer g.close()
					cfg.Failover = &bench.ScanFailover{Cluster: g.client, Flock: g.workers, Workers: workers}
				}
				return bench.Scan(ctx, cfg)
			})
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	b.register(cmd)
	cmd.Flags().Uint64Var(&cfg.Rows, "rows", 10_000_000, "rows of the file, about 16 bytes each")
	cmd.Flags().IntVar(&cfg.Between, "columns", 0, "other columns between the key and the number, 10 bytes each")
	cmd.Flags().IntVar(&cfg.Slots, "slots", runtime.GOMAXPROCS(0), "slots of the scan, and goroutines of the loop")
	cmd.Flags().IntVar(&cfg.Rounds, "rounds", 3, "number of measurements, of which the median is printed")
	cmd.Flags().IntVar(&blobs, "blobs", 0, "also measure a scan of this number of blobs of 32 MB")
	cmd.Flags().BoolVar(&kill, "kill-leader", false, "also measure a scan in a cluster whose leader is killed")
	cmd.Flags().IntVar(&workers, "workers", 3, "number of worker processes, with --kill-leader")
	cmd.Flags().StringVar(&dir, "dir", "", "folder for the file (default that for temporary files)")
	console.CompleteFolders(cmd, "dir")
	return cmd
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
