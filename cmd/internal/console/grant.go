package console

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// These environment variables say what the code of jobs may use. The flags of the command worker
// override them.
const (
	EnvFiles      = "BELLWETHER_FILES"
	EnvContainers = "BELLWETHER_CONTAINERS"
	EnvWeb        = "BELLWETHER_WEB"
	EnvPrograms   = "BELLWETHER_EXEC_PROGRAMS"
	EnvUser       = "BELLWETHER_EXEC_USER"
)

// GrantFlags are the flags that say what the code of jobs may use.
type GrantFlags struct{ files, containers, web, programs, user string }

// Register adds the flags to a command.
func (f *GrantFlags) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.files, "files", "", "folders whose files jobs may read, and in which they may create files, separated by colons (env "+EnvFiles+"; default none)")
	cmd.Flags().StringVar(&f.containers, "containers", "", "containers of blobs that jobs may use, separated by commas: CONTAINER of the cluster's storage account, or ACCOUNT/CONTAINER of another, with * for all of an account (env "+EnvContainers+"; default none)")
	cmd.Flags().StringVar(&f.web, "web", "", "web servers that jobs may read from beside https servers with public addresses, as HOST or HOST:PORT, separated by commas (env "+EnvWeb+"; default none)")
	cmd.Flags().StringVar(&f.programs, "exec-programs", "", "programs that the job exec may start, separated by commas, as they begin its command (env "+EnvPrograms+"; default all)")
	cmd.Flags().StringVar(&f.user, "exec-user", "", "user as whom the job exec runs programs, as a name or UID:GID, which needs root (env "+EnvUser+"; default the worker's)")
}

// Grant returns what the flags and the environment allow. If neither names folders, containers or
// web servers, jobs may use all of them if own is true, because the jobs are those of the user who
// runs this process. Otherwise they may use none but public web servers, because clients that may
// submit jobs could read all files of the worker, such as credentials, all blobs that its identity
// may read, and what the servers in its network serve.
func (f GrantFlags) Grant(a *App, own bool) jobs.Grant {
	g := jobs.Grant{Sources: a.Sources, Programs: []string{jobs.AnyProgram}, User: cmp.Or(f.user, os.Getenv(EnvUser))}
	if own {
		g.Files, g.Containers, g.Web = []string{"/"}, []string{jobs.AnyContainer, jobs.AnyAccount}, []string{jobs.AnyHost}
	}
	if folders, set := os.LookupEnv(EnvFiles); f.files != "" || set {
		g.Files = filepath.SplitList(cmp.Or(f.files, folders))
	}
	if names, set := os.LookupEnv(EnvContainers); f.containers != "" || set {
		g.Containers = words(cmp.Or(f.containers, names))
	}
	if hosts, set := os.LookupEnv(EnvWeb); f.web != "" || set {
		g.Web = words(cmp.Or(f.web, hosts))
	}
	if programs := cmp.Or(f.programs, os.Getenv(EnvPrograms)); programs != "" {
		g.Programs = words(programs)
	}
	return g
}

// words returns the parts of a list that is separated by commas.
func words(list string) (parts []string) {
	if list == "" {
		return nil
	}
	for part := range strings.SplitSeq(list, ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	return parts
}

// OwnGrant returns what jobs of the user of this process may use in it.
func (a *App) OwnGrant() jobs.Grant { return GrantFlags{}.Grant(a, true) }

// OnTarget returns a context for jobs that run in this process. They may read from the storage
// account, and the results of earlier jobs, of the cluster that the flags name. If the flags are not
// valid, the jobs belong to no cluster, because most jobs do not need one. The user is told when an
// account throttles the jobs' requests, because the jobs then wait.
func (a *App) OnTarget(ctx context.Context) context.Context {
	log := a.warnings()
	ctx = source.Watch(ctx, func(t source.Throttling) { t.Log(log) })
	cfg, err := a.Target.Config()
	if err != nil {
		return ctx
	}
	return cluster.With(ctx, cfg)
}
