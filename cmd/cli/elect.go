package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/command"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/leases"
	"github.com/bellwether-compute/bellwether/election/natspeers"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker"
)

const (
	watchdogCommand = "elect-watchdog"

	minElectLease = time.Second

	electPause         = time.Second            // pause between two attempts to open the lease
	electReconnectWait = 500 * time.Millisecond // pause between two attempts to reach a NATS server
)

type electFlags struct {
	name  string
	lease time.Duration
	grace time.Duration
	log   console.LogFlags
}

func (a *app) electCommand() *cobra.Command {
	var flags electFlags
	cmd := &cobra.Command{
		Use:   "elect --name NAME [flags] -- COMMAND [ARGUMENT...]",
		Short: "Run a command while this process is the one that leads NAME",
		Long: `Run a command while this process holds the lease NAME. Of all processes that are
started with the same name, cluster and storage, one at a time runs its command; the
others wait. When the command ends, the lease is released, another process runs its
command, and this process exits with the command's exit status (128 + the signal's
number if a signal ended it).

The command is stopped before another process can hold the lease. If the lease cannot
be renewed, the command gets SIGTERM, and SIGKILL when --grace has passed, both before
the lease expires; then this process waits for the lease again. This holds even while
this process is suspended: a watchdog process ends the command. The signals go to the
command's process group, which is its own. Standard input is empty.

The environment of the command has a fencing token in BELLWETHER_EPOCH: a number that
grows with each holder of NAME. A resource that refuses a lower number than the highest
it has seen is safe even if the whole machine is suspended and resumed. The environment
also has NAME in BELLWETHER_ELECTION and this process's ID in BELLWETHER_ID.

SIGTERM or Ctrl-C stops the command, releases the lease and exits. The exit status is
126 if the command cannot be executed, 127 if it is not found, and 1 if a signal came
while this process waited for the lease.

With storage azure, NATS is optional: without it, the others notice within a tenth of
the lease's duration that the lease was released. All processes of a NAME must use the
same --lease. A holder that dies is replaced when its lease has expired.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.elect(cmd.Context(), flags, args) },
	}
	cmd.Flags().SetInterspersed(false) // flags after COMMAND are arguments of COMMAND
	cmd.Flags().StringVar(&flags.name, "name", "", "name of the lease: 1 to 40 lower-case letters, digits and dashes")
	cmd.Flags().DurationVar(&flags.lease, "lease", worker.DefaultLease, "how long the lease lasts without a renewal; with storage "+string(cluster.Azure)+", whole seconds from 15s to 1m")
	cmd.Flags().DurationVar(&flags.grace, "grace", 0, "time from SIGTERM to SIGKILL, at most half of --lease (default a third of --lease)")
	flags.log.Register(cmd, "warn")
	return cmd
}

// electWatchdogCommand returns the hidden command that the watchdog process runs. The command elect
// starts the watchdog process, which runs the user's command.
func (a *app) electWatchdogCommand() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use:    watchdogCommand,
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE:   func(_ *cobra.Command, args []string) error { return command.Watchdog(args, grace) },
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().DurationVar(&grace, "grace", 0, "")
	return cmd
}

// errLeaseAtRisk means that the user's command was stopped because the lease was about to expire.
var errLeaseAtRisk = errors.New("the lease could not be renewed in time")

// elector runs a command whenever its process holds the lease.
type elector struct {
	name    string
	cluster cluster.Config
	cfg     election.Config
	command command.Config
	log     *slog.Logger
	status  int // exit status of the user's command; valid after the command has ended
}

func (a *app) elect(ctx context.Context, flags electFlags, args []string) error {
	e, subjects, err := a.newElector(flags, args)
	if err != nil {
		return err
	}
	ctx, stop := console.Interruptible(ctx)
	defer stop()
	nc, err := e.connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	lease, err := e.open(ctx, nc)
	if err != nil {
		return err
	}
	peers, err := natspeers.New(nc, subjects, e.cfg.ID, "", e.log)
	if err != nil {
		return err
	}
	defer peers.Close()
	for {
		err = election.Hold(ctx, lease, peers, e.cfg, e.run)
		if !errors.Is(err, errLeaseAtRisk) || ctx.Err() != nil {
			break
		}
	}
	var failed *command.StartError
	switch {
	case err == nil, errors.Is(err, errLeaseAtRisk):
		return console.Status(e.status)
	case errors.As(err, &failed):
		return &console.StatusError{Status: failed.Status, Err: err}
	case ctx.Err() != nil:
		return fmt.Errorf("stopped while waiting for the lease %s", e.name)
	}
	return err
}

// newElector validates the flags of the command elect. newElector chooses the durations so that one
// renewal may fail and another may succeed before the user's command must be stopped.
func (a *app) newElector(flags electFlags, args []string) (*elector, wire.Subjects, error) {
	fail := func(err error) (*elector, wire.Subjects, error) { return nil, wire.Subjects{}, err }
	grace := cmp.Or(flags.grace, flags.lease/3)
	if flags.lease < minElectLease {
		return fail(console.Usagef("--lease %v: want at least %v", flags.lease, minElectLease))
	}
	if grace <= 0 || grace > flags.lease/2 {
		return fail(console.Usagef("--grace %v: want more than 0 and at most half of --lease, %v", grace, flags.lease/2))
	}
	log, err := flags.log.Logger(a.App)
	if err != nil {
		return fail(err)
	}
	target, err := a.Target.Config()
	if err != nil {
		return fail(err)
	}
	target.Logger = log
	all, err := target.Subjects()
	if err != nil {
		return fail(err)
	}
	subjects, err := all.Election(flags.name)
	if err != nil {
		return fail(console.Usagef("--name: %w", err))
	}
	if err := command.Find(args[0]); err != nil {
		var failed *command.StartError
		errors.As(err, &failed)
		return fail(&console.StatusError{Status: failed.Status, Err: err})
	}
	program, err := os.Executable()
	if err != nil {
		return fail(fmt.Errorf("find this program: %w", err))
	}
	id := worker.NewID()
	renewEvery, margin := flags.lease/5, flags.lease*2/15
	return &elector{
		name: flags.name, cluster: target, log: log.With("election", flags.name, "id", id),
		cfg: election.Config{
			ID: id, Exclusive: true, Logger: log.With("election", flags.name, "id", id),
			Duration: flags.lease, Margin: margin, RenewEvery: renewEvery,
			CallTimeout: (flags.lease - margin - grace - renewEvery) / 2,
		},
		command: command.Config{
			Args: args, Grace: grace,
			Env:      []string{"BELLWETHER_ELECTION=" + flags.name, "BELLWETHER_ID=" + id},
			Watchdog: []string{program, watchdogCommand, "--grace", grace.String(), "--"},
		},
	}, subjects, nil
}

// connect returns a NATS connection that connects in the background and retries without a limit.
func (e *elector) connect() (*nats.Conn, error) {
	level, last := slog.LevelWarn, ""
	if e.cluster.Storage == cluster.Azure { // the election works without NATS
		level = slog.LevelInfo
	}
	return e.cluster.ConnectNATS("elect "+e.name+" "+e.cfg.ID,
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // retry after refused credentials too, because an operator may correct them
		nats.ReconnectWait(electReconnectWait),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { // only one goroutine calls the handler
			if text := err.Error(); text != last {
				last = text
				e.log.Log(context.Background(), level, "No NATS server answers, retrying", "error", err)
			}
		}),
	)
}

// open opens the lease, and retries until the lease is open or ctx is done.
func (e *elector) open(ctx context.Context, nc *nats.Conn) (election.Lease, error) {
	for logged := false; ; {
		call, cancel := context.WithTimeout(ctx, e.cfg.Duration)
		lease, err := leases.OpenNamed(call, e.cluster, nc, e.name, e.cfg)
		cancel()
		if err == nil || errors.Is(err, cluster.ErrConfig) {
			return lease, err
		}
		if !nc.IsConnected() {
			err = fmt.Errorf("%w answers: %w", cluster.ErrNoServer, err)
		}
		if !logged {
			logged = true
			e.log.Warn("Cannot open the lease, retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("stopped while waiting for the lease %s: %w", e.name, err)
		case <-time.After(electPause):
		}
	}
}

// run runs the command during one term.
func (e *elector) run(ctx context.Context, term *election.Term) error {
	cfg := e.command
	cfg.Env = append(slices.Clone(cfg.Env), fmt.Sprintf("BELLWETHER_EPOCH=%d", term.Epoch))
	result, err := command.Run(ctx, cfg)
	if err != nil {
		return err
	}
	e.status = result.Status
	e.log.Info("Command ended", "epoch", term.Epoch, "status", result.Status, "stopped", result.Stopped)
	if result.Stopped {
		return errLeaseAtRisk // the lease is about to expire, or this process was told to stop
	}
	return nil
}
