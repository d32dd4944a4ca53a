package jobs

import (
	"context"
	"path/filepath"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Grant contains what the operator of a process lets the code of jobs use. Each field names what is
// allowed, so with the zero Grant jobs read no file and start no program of a submitter.
type Grant struct {
	// Files are the folders whose files jobs may read, and in which they may create files. The
	// folder "/" allows all files. A relative folder is below the folder in which the process runs
	// when WithGrant is called; an empty name allows nothing.
	Files []string

	// Sources are the places where jobs read and write objects. Nil means the sources of package
	// dataset. A program that adds a source usually appends the source to dataset.Sources().
	Sources []source.Source

	// Programs are the programs that the job exec may start, as they begin the job's command.
	// AnyProgram allows all programs.
	Programs []string

	// User is the user as whom the job exec starts programs: a name, or numbers of the form UID or
	// UID:GID. Only root can start programs as another user. If User is empty, the programs run as
	// the user of this process.
	User string
}

// AnyProgram in [Grant].Programs allows all programs.
const AnyProgram = "*"

type grantKey struct{}

// WithGrant returns a context with which the code of jobs may use what g contains. The caller must
// call release when no code of a job uses the context anymore.
func WithGrant(ctx context.Context, g Grant) (granted context.Context, release func()) {
	g.Files = absolute(g.Files)
	return source.With(context.WithValue(ctx, grantKey{}, g), g.Sources)
}

// absolute returns the absolute names of folders. It omits empty names, which would stand for the
// current folder, and folders whose absolute name cannot be determined.
func absolute(folders []string) (names []string) {
	for _, folder := range folders {
		if name, err := filepath.Abs(folder); folder != "" && err == nil {
			names = append(names, name)
		}
	}
	return names
}

// GrantOf returns what the code of a job may use. The context is the context that the functions of
// the job's definition get.
func GrantOf(ctx context.Context) Grant {
	g, _ := ctx.Value(grantKey{}).(Grant)
	return g
}
