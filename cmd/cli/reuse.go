package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store/folder"
	"github.com/bellwether-compute/bellwether/jobs/store/kept"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const defaultKeep = "1GiB"

// reuseFlags are the flags of a run that reuses partials of earlier runs.
type reuseFlags struct {
	folder string
	keep   string
}

func (f *reuseFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.folder, "reuse", "", "keep partial results in this folder, and reuse those of earlier runs")
	cmd.Flags().StringVar(&f.keep, "keep", defaultKeep, "most bytes to keep in the folder; what was not used for the longest time is dropped, and after 30 days")
}

// check returns an error if the flags do not suit other flags.
func (f *reuseFlags) check(cmd *cobra.Command, excluded ...string) error {
	if f.folder == "" {
		if cmd.Flags().Changed("keep") {
			return console.Usagef("--keep: want --reuse FOLDER too")
		}
		return nil
	}
	for _, name := range excluded {
		if cmd.Flags().Changed(name) {
			return console.Usagef("--reuse and --%s exclude each other: a reused partition is not computed", name)
		}
	}
	return nil
}

func (f *reuseFlags) limit() (int64, error) { return parseKeep(f.keep) }

// parseKeep returns the number of bytes that may be kept.
func parseKeep(keep string) (int64, error) {
	n, err := humanize.ParseBytes(keep)
	if err != nil || n == 0 || n > math.MaxInt64 {
		return 0, console.Usagef("--keep %q: want a number of bytes, such as 1GiB", keep)
	}
	return int64(n), nil
}

// open returns the kept partials of a job in the folder. The caller must close them. Without the flag, open
// returns nil.
func (f *reuseFlags) open(ctx context.Context, job jobs.Job, params jobs.Params) (*kept.Partials, jobs.Reuse, error) {
	if f.folder == "" {
		return nil, jobs.Reuse{}, nil
	}
	limit, err := f.limit()
	if err != nil {
		return nil, jobs.Reuse{}, err
	}
	host, _ := os.Hostname() // an empty name describes the origin too
	cfg := kept.Config{Origin: fmt.Sprintf("run on %s at %s", host, time.Now().UTC().Format(time.DateTime)), Limit: limit}
	return openKept(ctx, cfg, job, params, func() (kept.Blobs, error) {
		blobs, err := folder.Open(f.folder)
		if err != nil {
			return nil, fmt.Errorf("open --reuse %s: %w", f.folder, err)
		}
		return blobs, nil
	})
}

// openKept returns the kept partials of a job in a storage, and completes their configuration.
func openKept(ctx context.Context, cfg kept.Config, job jobs.Job, params jobs.Params, storage func() (kept.Blobs, error)) (*kept.Partials, jobs.Reuse, error) {
	build := wire.ThisBuild()
	if !wire.KnownBuild(build) {
		return nil, jobs.Reuse{}, errors.New("--reuse: this program does not say how it was compiled, so it may compute other bytes than the program that has kept a partial: compile it with the go command, which notes that")
	}
	var err error
	if cfg.Family, err = job.Family(params, build); err != nil {
		return nil, jobs.Reuse{}, console.Usagef("--reuse: %v", err)
	}
	if cfg.Blobs, err = storage(); err != nil {
		return nil, jobs.Reuse{}, err
	}
	cfg.Job, cfg.Version, cfg.Build, cfg.Params = job.Name(), job.Version(), build, params
	list, err := kept.Open(ctx, cfg)
	return list, jobs.Reuse{Family: cfg.Family, Kept: list, Limit: cfg.Limit}, err
}

// openOf is a keptOf.
func (f *reuseFlags) openOf(ctx context.Context, job jobs.Job, params jobs.Params) (*kept.Partials, jobs.Reuse, earlierJob, error) {
	list, reuse, err := f.open(ctx, job, params)
	return list, reuse, earlierOf(ctx, list), err
}

// earlierJob is what is known of an earlier job when a dry run says why partitions would be computed.
type earlierJob struct {
	known    bool
	differs  []string           // what differs from the most similar job: version, build and parameters; empty if a job shares all
	objects  []jobs.InputObject // objects of the job that shares all
	compares bool               // true if these objects are known
}

// earlierOf returns what is known of an earlier job. The list may be nil.
func earlierOf(ctx context.Context, list *kept.Partials) earlierJob {
	if list == nil {
		return earlierJob{}
	}
	one, differs, ok := list.Earlier(ctx)
	if !ok || len(differs) > 0 {
		return earlierJob{known: ok, differs: differs}
	}
	return earlierJob{known: true, objects: one.Objects, compares: one.Known}
}

// describeMissing says how many of a job's partitions would be computed, and why.
func describeMissing(m jobs.Missing, all uint64, earlier earlierJob) string {
	text := fmt.Sprintf("%s of %s", human.Count(m.Partitions), human.Count(all))
	if m.Partitions == 0 {
		return text
	}
	switch {
	case !earlier.known:
		text += "; nothing is known of an earlier job"
	case len(earlier.differs) > 0:
		text += "; differs from the most similar job that is known: " + strings.Join(earlier.differs, ", ")
	case !m.Compared:
		text += "; which part of the input has changed is unknown"
	default:
		text += fmt.Sprintf("; objects: %s new, %s changed%s", human.Count(m.New), human.Count(m.Changed), namesOf(m))
	}
	if m.Unexplained > 0 {
		text += fmt.Sprintf("; %s whose input is as before, but which are not kept", human.Count(m.Unexplained))
	}
	if m.Uncertain > 0 {
		text += fmt.Sprintf("; %s whose input may still change without a trace", human.Count(m.Uncertain))
	}
	return text
}

// namesOf lists the new and changed objects in parentheses.
func namesOf(m jobs.Missing) string {
	if len(m.Names) == 0 {
		return ""
	}
	text := " (" + strings.Join(m.Names, ", ")
	if rest := m.New + m.Changed - uint64(len(m.Names)); rest > 0 {
		text += fmt.Sprintf(" and %s more", human.Count(rest))
	}
	return text + ")"
}

// close closes kept partials and adds to an outcome what was reused and kept.
func (f *reuseFlags) close(ctx context.Context, a *console.App, list *kept.Partials, o *answer.Outcome) {
	if list == nil {
		return
	}
	list.Close(context.WithoutCancel(ctx)) // an interrupted run keeps what it has computed
	s := list.Stats()
	if s.Lost > 0 {
		a.Note("--reuse: files missing or damaged in %s: %d; their partitions were computed again", f.folder, s.Lost)
	}
	if s.Failed > 0 {
		a.Note("--reuse: reads and writes that failed in %s: %d, the last of them: %v", f.folder, s.Failed, s.Error)
	}
	if o.Reuse != nil {
		o.Reuse.Kept, o.Reuse.Lost, o.Reuse.From = &answer.Kept{Partials: s.Kept, Bytes: s.Bytes}, s.Lost, answer.Listed(s.Origins)
	}
}
