package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/machine"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

// defaultPort is the port that NATS servers use by default.
const defaultPort = 4222

type devFlags struct {
	workers int
	slots   int
	memory  string
	data    string
	port    int
	http    machine.PageFlags
	allow   allowFlag
	log     console.LogFlags
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
job exec, whose programs run as you, and jobs may use all files, containers and web
servers that you may use. On a machine that you share give --allow=, and set
BELLWETHER_FILES, BELLWETHER_CONTAINERS and BELLWETHER_WEB, which may be empty. With
--storage azure, the cluster keeps its state in the storage account that the environment
or --azure-url names, or, if neither names one, in Azurite, an emulator that needs
Node.js.

Ctrl-C stops everything. Submitted jobs are kept under --data and continue when the
cluster is started again. A second Ctrl-C does not wait for running partitions; they
are computed again later.`,
		Example: "  " + a.Name + " dev --workers 4",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.workers < 0 || flags.slots < 0 {
				return console.Usagef("--workers and --slots must not be negative")
			}
			if flags.port < 0 || flags.port > 65535 {
				return console.Usagef("--port must be 0 to 65535, got %d", flags.port)
			}
			each, err := machine.ParseMemory(flags.memory)
			if err != nil {
				return err
			}
			machine.LimitServer(each)
			flags.allow.setDefault(a, cmd, "exec")
			return a.dev(cmd.Context(), flags)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().IntVar(&flags.workers, "workers", 2, "number of worker processes; 0 runs only the NATS server")
	cmd.Flags().IntVar(&flags.slots, "slots", 0, "slots per worker; 0 divides the machine's cores among the workers, at least 1 each")
	cmd.Flags().StringVar(&flags.memory, "memory", "", "memory of each worker for large partials and for data that rounds keep, and at most of the NATS server, such as 3GiB (default three quarters of the machine's memory, divided among the workers)")
	cmd.Flags().StringVar(&flags.data, "data", "", "folder for the cluster's data (default \""+defaultData("~/.local/state")+"\", or under XDG_STATE_HOME)")
	cmd.Flags().IntVar(&flags.port, "port", defaultPort, "port of the NATS server; 0 is any free port")
	cmd.Flags().StringVar(&flags.http.Address, "http", "", "address to serve a page that shows the cluster, such as 127.0.0.1:0 for any free port")
	flags.http.Register(cmd)
	flags.allow.register(a, cmd)
	flags.log.Register(cmd, "info")
	console.CompleteFolders(cmd, "data")
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
		return "", console.Usagef("find a folder for data: %w: give --data DIR", err)
	}
	return defaultData(filepath.Join(home, ".local", "state")), nil
}

func (a *app) dev(ctx context.Context, flags devFlags) error {
	cfg, err := a.Target.Config()
	if err != nil {
		return err
	}
	log, err := flags.log.Logger(a.App)
	if err != nil {
		return err
	}
	if _, err := flags.allow.filter(a.Jobs); err != nil { // an invalid flag must be reported before the servers start
		return err
	}
	data, err := dataDir(flags.data)
	if err != nil {
		return err
	}
	servers, err := machine.Start(ctx, a.App, cfg, data, flags.port, cfg.Storage == cluster.Azure && !cfg.Azure.Configured(), log)
	if err != nil {
		return err
	}
	defer servers.Close(log)
	if err := servers.Create(ctx, a.Timeout); err != nil {
		return err
	}

	signals, ignore := console.StopSignals()
	defer ignore()

	slots := cmp.Or(flags.slots, machine.SlotsEach(flags.workers))
	memory := cmp.Or(flags.memory, machine.MemoryEach(flags.workers))
	workers, err := machine.NewWorkers(a.App, servers, slots, memory, flags.log, true, flags.allow.args()...)
	if err != nil {
		return err
	}
	kill := make(chan struct{})
	defer workers.Stop(machine.StopTimeout, kill)
	for range flags.workers {
		if _, err := workers.Start(); err != nil {
			return err
		}
	}
	url := ""
	if flags.http.Address != "" {
		server, err := machine.ServePage(a.App, servers.Config, flags.http, log)
		if err != nil {
			return err
		}
		defer server.Close()
		url = server.URL
	}
	if err := a.greet(servers, data, url, flags.workers, slots); err != nil {
		return err
	}
	return a.awaitEnd(ctx, servers, workers, kill, signals)
}

// awaitEnd waits until ctx is done or a signal arrives, and stops the workers gracefully. After a
// second signal, awaitEnd closes kill and does not wait for running partitions.
func (a *app) awaitEnd(ctx context.Context, servers *machine.Servers, workers *procs.Supervisor, kill chan struct{}, signals <-chan os.Signal) error {
	select {
	case <-ctx.Done():
	case <-servers.Failed():
		return machine.ErrAzuriteEnded
	case <-signals:
		a.Note("stopping; press Ctrl-C again to stop without waiting for running partitions")
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		workers.Stop(machine.StopTimeout, kill)
	}()
	select {
	case <-stopped:
	case <-signals:
		close(kill)
		<-stopped
	}
	return nil
}

// greet prints how to use the cluster.
func (a *app) greet(servers *machine.Servers, data, page string, workers, slots int) error {
	answer := struct {
		NATS    string `json:"nats"`
		Cluster string `json:"cluster"`
		Storage string `json:"storage"`
		Azurite string `json:"azurite,omitempty"` // connection string of Azurite, whose key is publicly known
		Data    string `json:"data"`
		Workers int    `json:"workers"`
		Slots   int    `json:"slots"`
		Page    string `json:"page,omitempty"` // URL of the page
	}{NATS: servers.NATS.URL(), Cluster: servers.Config.Name, Storage: string(servers.Config.Storage), Data: data, Workers: workers, Slots: slots, Page: page}
	if servers.Azurite != nil {
		answer.Azurite = servers.Azurite.ConnectionString()
	}
	return a.Show(answer, func(w io.Writer) {
		console.Row(w, "nats", answer.NATS)
		console.Row(w, "cluster", answer.Cluster)
		console.Row(w, "storage", answer.Storage)
		console.Row(w, "data", data)
		console.Row(w, "workers", fmt.Sprintf("%d, %s each", workers, english.Plural(slots, "slot", "")))
		if page != "" {
			console.Row(w, "page", page)
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
		fmt.Fprintf(w, "\n  %s submit %s --wait\n\nCtrl-C stops everything.\n", a.Name, a.exampleJob())
	})
}

// exampleJob returns the name of a job of this program for examples.
func (a *app) exampleJob() string {
	const primes = "primes"
	if _, err := a.Job(primes); err == nil || len(a.Jobs) == 0 {
		return primes
	}
	return a.Jobs[0].Name()
}
