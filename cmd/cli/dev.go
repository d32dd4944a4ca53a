package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/exec"
	"github.com/bellwether-compute/bellwether/worker"
)

// defaultPort is the port that NATS servers use by default.
const defaultPort = 4222

type devFlags struct {
	workers int
	slots   int
	memory  string
	data    string
	port    int
	http    httpFlags
	allow   allowFlag
	log     logFlags
}

func (a *app) devCommand() *cobra.Command {
	var flags devFlags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a cluster on this machine: a NATS server and worker processes",
		Long: `Run a cluster on this machine: a NATS server with JetStream, which syncs every
write to disk before it acknowledges it, and worker processes of this program. A
worker process that dies is restarted, after a pause that grows if it keeps dying.
The server listens on 127.0.0.1 only and needs no password, so each user of this
machine can submit jobs. Unless --allow says otherwise, the workers run the restricted
job exec, whose programs run as you: give --allow= on a machine that you share. With
--storage azure, the cluster keeps its state in the storage account that the environment
or --azure-url names, or, if neither names one, in Azurite, an emulator that needs
Node.js.

Ctrl-C stops everything. Submitted jobs are kept under --data and continue when the
cluster is started again. A second Ctrl-C does not wait for running partitions; they
are computed again later.`,
		Example: "  " + a.name + " dev --workers 4",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.workers < 0 || flags.slots < 0 {
				return usagef("--workers and --slots must not be negative")
			}
			if flags.port < 0 || flags.port > 65535 {
				return usagef("--port must be 0 to 65535, got %d", flags.port)
			}
			if _, err := parseMemory(flags.memory); err != nil {
				return err
			}
			flags.allow.setDefault(a, cmd, exec.Name)
			return a.dev(cmd.Context(), flags)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().IntVar(&flags.workers, "workers", 2, "number of worker processes; 0 runs only the NATS server")
	cmd.Flags().IntVar(&flags.slots, "slots", 0, "slots per worker; 0 divides the machine's cores among the workers, at least 1 each")
	cmd.Flags().StringVar(&flags.memory, "memory", "", "memory of each worker for large partials, such as 3GiB (default three quarters of the machine's memory, divided among the workers)")
	cmd.Flags().StringVar(&flags.data, "data", "", "folder for the cluster's data (default \""+defaultData("~/.local/state")+"\", or under XDG_STATE_HOME)")
	cmd.Flags().IntVar(&flags.port, "port", defaultPort, "port of the NATS server; 0 is any free port")
	cmd.Flags().StringVar(&flags.http.address, "http", "", "address to serve a page that shows the cluster, such as 127.0.0.1:0 for any free port")
	flags.http.register(cmd)
	flags.allow.register(a, cmd)
	flags.log.register(cmd)
	completeFolders(cmd, "data")
	return cmd
}

// defaultData returns the default folder for the data of the command dev, inside the user's state
// folder.
func defaultData(state string) string { return filepath.Join(state, "bellwether", "dev") }

// dataDir returns the folder for the data of the command dev: the parameter given, or the default
// folder if given is empty.
func dataDir(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return defaultData(state), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", usagef("find a folder for data: %w: give --data DIR", err)
	}
	return defaultData(filepath.Join(home, ".local", "state")), nil
}

// stopTimeout is how long worker processes may take to stop. stopTimeout is longer than the drain
// timeout of the workers.
const stopTimeout = 30 * time.Second

func (a *app) dev(ctx context.Context, flags devFlags) error {
	cfg, err := a.target.config()
	if err != nil {
		return err
	}
	log, err := flags.log.logger(a)
	if err != nil {
		return err
	}
	if _, err := flags.allow.filter(a.jobs); err != nil { // an invalid flag must be reported before the servers start
		return err
	}
	data, err := dataDir(flags.data)
	if err != nil {
		return err
	}
	servers, err := a.startLocal(ctx, cfg, data, flags.port, cfg.Storage == cluster.Azure && !cfg.Azure.Configured(), log)
	if err != nil {
		return err
	}
	defer servers.close(log)
	if err := servers.check(ctx, a.timeout); err != nil {
		return a.explain(err)
	}

	signals, ignore := stopSignals()
	defer ignore()

	slots := cmp.Or(flags.slots, slotsEach(flags.workers))
	memory := cmp.Or(flags.memory, memoryEach(flags.workers))
	workers, err := a.newWorkers(servers, slots, memory, flags.log, flags.allow, true)
	if err != nil {
		return err
	}
	kill := make(chan struct{})
	defer workers.Stop(stopTimeout, kill)
	for range flags.workers {
		if _, err := workers.Start(); err != nil {
			return err
		}
	}
	url := ""
	if flags.http.address != "" {
		server, err := a.servePage(servers.cfg, flags.http, log)
		if err != nil {
			return err
		}
		defer server.close()
		url = server.url
	}
	if err := a.greet(servers, data, url, flags.workers, slots); err != nil {
		return err
	}

	select {
	case <-ctx.Done():
	case <-servers.failed():
		return errAzuriteEnded
	case <-signals:
		a.note("stopping; press Ctrl-C again to stop without waiting for running partitions")
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		workers.Stop(stopTimeout, kill)
	}()
	select {
	case <-stopped:
	case <-signals:
		close(kill)
		<-stopped
	}
	return nil
}

// slotsEach divides the machine's cores among the workers, and returns the number of slots per worker.
func slotsEach(workers int) int { return max(1, runtime.GOMAXPROCS(0)/max(1, workers)) }

// memoryEach returns the value of the flag --memory for workers that share the machine's memory.
func memoryEach(workers int) string {
	return fmt.Sprint(max(minMemory, worker.DefaultMemory()/int64(max(1, workers))))
}

// newWorkers returns a supervisor for worker processes of this program. newWorkers does not start
// any process.
func (a *app) newWorkers(servers *localServers, slots int, memory string, log logFlags, allow allowFlag, restart bool) (*procs.Supervisor, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	logger, err := log.logger(a)
	if err != nil {
		return nil, err
	}
	return procs.New(procs.Config{
		Program: program,
		Args:    append([]string{"worker", "--slots", fmt.Sprint(slots), "--memory", memory, "--with-parent"}, slices.Concat(log.args(), allow.args())...),
		Env:     servers.env(),
		Output:  a.Err,
		Restart: restart,
		Logger:  logger,
	}), nil
}

// greet prints how to use the cluster.
func (a *app) greet(servers *localServers, data, page string, workers, slots int) error {
	answer := struct {
		NATS    string `json:"nats"`
		Cluster string `json:"cluster"`
		Storage string `json:"storage"`
		Azurite string `json:"azurite,omitempty"` // connection string of Azurite, whose key is publicly known
		Data    string `json:"data"`
		Workers int    `json:"workers"`
		Slots   int    `json:"slots"`
		Page    string `json:"page,omitempty"` // URL of the page
	}{NATS: servers.nats.URL(), Cluster: servers.cfg.Name, Storage: string(servers.cfg.Storage), Data: data, Workers: workers, Slots: slots, Page: page}
	if servers.azurite != nil {
		answer.Azurite = servers.azurite.ConnectionString()
	}
	return a.show(answer, func(w io.Writer) {
		row(w, "nats", answer.NATS)
		row(w, "cluster", answer.Cluster)
		row(w, "storage", answer.Storage)
		row(w, "data", data)
		row(w, "workers", fmt.Sprintf("%d, %s each", workers, english.Plural(slots, "slot", "")))
		if page != "" {
			row(w, "page", page)
		}
		fmt.Fprintf(w, "\nIn another terminal:\n\n  export %s=%s", cluster.EnvNATSURL, answer.NATS)
		if answer.Cluster != cluster.DefaultName {
			fmt.Fprintf(w, " %s=%s", cluster.EnvName, answer.Cluster)
		}
		if answer.Storage != string(cluster.JetStream) {
			fmt.Fprintf(w, " %s=%s", cluster.EnvStorage, answer.Storage)
		}
		if answer.Azurite != "" {
			fmt.Fprintf(w, "\n  export %s='%s'", cluster.EnvAzureConnection, answer.Azurite)
		}
		fmt.Fprintf(w, "\n  %s submit %s --wait\n\nCtrl-C stops everything.\n", a.name, a.exampleJob())
	})
}

// exampleJob returns the name of a job of this program for examples.
func (a *app) exampleJob() string {
	if _, err := a.job(demoJob); err == nil || len(a.jobs) == 0 {
		return demoJob
	}
	return a.jobs[0].Name()
}
