package jobs

import (
	"cmp"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/field"
)

// Grant contains what the operator of a process lets the code of jobs use. Each field names what is
// allowed, so with the zero Grant jobs read no file and no blob, and start no program of a submitter.
type Grant struct {
	// Files are the folders whose files jobs may read, and in which they may create files. The
	// folder "/" allows all files. A relative folder is below the folder in which the process runs
	// when WithGrant is called; an empty name allows nothing.
	Files []string

	// Containers are the containers of Azure storage accounts whose blobs jobs may read, create and
	// remove: CONTAINER in the account of the cluster, or ACCOUNT/CONTAINER in another account, to
	// which the process then signs in with its own identity. Outside of Azure's public cloud,
	// ACCOUNT is the host of the account. AnyContainer as CONTAINER allows all containers of the
	// account except for those of clusters, whose names begin with "bellwether-". The cluster's own
	// container is never allowed.
	Containers []string

	// Web are the web servers that jobs may read from, in addition to https servers with public
	// addresses, by http or https, at whatever address: HOST, for the ports 80 and 443, or
	// HOST:PORT. AnyHost allows all.
	Web []string

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

const (
	// AnyProgram in [Grant].Programs allows all programs.
	AnyProgram = "*"
	// AnyContainer in [Grant].Containers allows the containers of the cluster's account, and after
	// an account and a slash those of another account.
	AnyContainer = "*"
	// AnyAccount in [Grant].Containers allows the containers of all accounts other than the
	// cluster's. AnyAccount is for processes that run the jobs of their own user: the process sends
	// a token of its identity to each account that a job names.
	AnyAccount = "*/*"
)

// AnyHost in [Grant].Web allows all web servers that the process can reach.
const AnyHost = "*"

var containerForm = regexp.MustCompile(`^([a-z0-9.-]+/)?([*]|[a-z0-9$][a-z0-9-]*)$|^[*]/[*]$`)

// Validate returns an error if a field has a value that allows nothing.
func (g Grant) Validate() error {
	errs := []error{field.Check(!slices.Contains(g.Programs, ""), "Programs", g.Programs, "names or paths of programs")}
	for _, name := range g.Containers {
		errs = append(errs, field.Check(containerForm.MatchString(name), "Containers", name, "CONTAINER or ACCOUNT/CONTAINER"))
	}
	for _, host := range g.Web {
		errs = append(errs, field.Check(host != "" && !strings.ContainsAny(host, "/@ ,"), "Web", host, "HOST or HOST:PORT"))
	}
	return cmp.Or(errs...)
}

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
