package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/store/folder"
	"github.com/bellwether-compute/bellwether/jobs/store/kept"
)

// keptFamily describes the kept partials of the runs of one version of a job with the same parameters.
type keptFamily struct {
	Family   string    `json:"family"`
	Job      string    `json:"job"`
	Version  string    `json:"version"`
	Partials uint64    `json:"partials"`
	Bytes    int64     `json:"bytes"`
	Made     time.Time `json:"made"` // time at which the oldest of them was kept
	Used     time.Time `json:"used"` // time of the last use, up to an hour too early
	From     []string  `json:"from"` // jobs or runs that have kept them

	packs []kept.Pack
}

// families returns the families of packs, the one that was used last first.
func families(packs []kept.Pack) []keptFamily {
	list := []keptFamily{}
	for _, p := range packs {
		i := slices.IndexFunc(list, func(f keptFamily) bool { return f.Family == p.Family })
		if i < 0 {
			i = len(list)
			list = append(list, keptFamily{Family: p.Family, Job: p.Job, Version: p.Version, Made: p.Made.UTC(), Used: p.Used.UTC(), From: []string{}})
		}
		f := &list[i]
		f.Partials, f.Bytes, f.packs = f.Partials+p.Partials, f.Bytes+p.Bytes, append(f.packs, p)
		if p.Used.After(f.Used) {
			f.Used = p.Used.UTC()
		}
		if !slices.Contains(f.From, p.Origin) {
			f.From = append(f.From, p.Origin)
		}
	}
	slices.SortStableFunc(list, func(a, b keptFamily) int { return b.Used.Compare(a.Used) })
	return list
}

func (a *app) keptCommand() *cobra.Command {
	var drop string
	cmd := &cobra.Command{
		Use:   "kept [FOLDER]",
		Short: "List or drop what jobs with --reuse have kept",
		Long: `List the partial results that 'run --reuse FOLDER' has kept in a folder, or without a folder
those that 'submit --reuse' has kept in the cluster. Each line is a family: the runs of
one version of a job, with the same parameters and the same kind of build.

With --drop, the family that begins with these digits is dropped, or each family with
--drop all. Nothing is lost but time: later runs compute what is not kept.`,
		Example: "  " + a.Name + " kept FOLDER --drop all",
		Args:    console.WantArgs(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			show := func(ctx context.Context, blobs kept.Blobs) error {
				packs, err := kept.List(ctx, blobs)
				if err != nil {
					return err
				}
				list := families(packs)
				if cmd.Flags().Changed("drop") {
					if list, err = dropFamilies(ctx, blobs, list, drop); err != nil {
						return err
					}
				}
				return a.Show(list, func(w io.Writer) { showFamilies(w, list) })
			}
			if len(args) > 0 {
				blobs, err := openFolder(args[0])
				if err != nil {
					return err
				}
				return show(cmd.Context(), blobs)
			}
			return a.OnCluster(func(ctx context.Context, c *client.Client) error {
				blobs, err := c.Kept(ctx)
				if err != nil {
					return err
				}
				return show(ctx, blobs)
			})(cmd, nil)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	cmd.Flags().StringVar(&drop, "drop", "", "drop the family that begins with these digits, or all; the output lists what was dropped")
	return cmd
}

// openFolder opens a folder in which partials may be kept.
func openFolder(name string) (kept.Blobs, error) {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return nil, console.Usagef("%s is not a folder: want the folder of --reuse", name)
	}
	blobs, err := folder.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return blobs, nil
}

// dropFamilies drops one family or all, and returns them.
func dropFamilies(ctx context.Context, blobs kept.Blobs, list []keptFamily, which string) ([]keptFamily, error) {
	if which != "all" {
		list = slices.DeleteFunc(list, func(f keptFamily) bool { return which == "" || !strings.HasPrefix(f.Family, which) })
		if len(list) != 1 {
			return nil, console.Usagef("--drop %q: %d families begin so: want the digits of one, or all", which, len(list))
		}
	}
	for _, f := range list {
		for _, p := range f.packs {
			if err := kept.Drop(ctx, blobs, p); err != nil {
				return nil, fmt.Errorf("drop family %s: %w", f.Family, err)
			}
		}
	}
	return list, nil
}

func showFamilies(w io.Writer, list []keptFamily) {
	if len(list) == 0 {
		fmt.Fprintln(w, "nothing is kept")
		return
	}
	console.Row(w, "FAMILY", "JOB", "PARTIALS", "SIZE", "MADE", "USED", "FROM")
	for _, f := range list {
		console.Row(w, f.Family[:8], f.Job+" "+f.Version, human.Count(f.Partials), human.Size(f.Bytes), human.Time(f.Made), human.Time(f.Used), f.origins())
	}
}

// origins returns the last run that has kept partials, and the number of earlier ones.
func (f keptFamily) origins() string {
	last := f.From[len(f.From)-1]
	if n := len(f.From) - 1; n > 0 {
		return fmt.Sprintf("%s, and %d before", last, n)
	}
	return last
}
