package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
)

// Postgres is a running PostgreSQL server.
type Postgres struct {
	*processes.Server
	URL string
}

// StartPostgres creates a database in dir and runs its server. With synchronous commit a
// transaction is on disk before its client gets a reply. Without synchronous commit, a crash can
// lose the transactions of about the last second.
// https://www.postgresql.org/docs/current/wal-async-commit.html
func StartPostgres(ctx context.Context, dir string, synchronousCommit bool) (*Postgres, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	owner, err := postgresUser()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "postgres")
	if err := give(dir, data, owner); err != nil {
		return nil, err
	}
	if err := initPostgres(ctx, bin, data, owner); err != nil {
		return nil, err
	}
	port, err := processes.FreePort()
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("postgres://bench@127.0.0.1:%d/postgres?sslmode=disable", port)
	args := []string{"-D", data, "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-k", data}
	for _, setting := range append(postgresTuning(), "synchronous_commit="+onOff(synchronousCommit)) {
		args = append(args, "-c", setting)
	}
	server, err := processes.Serve(ctx, processes.Program{
		Path: filepath.Join(bin, "postgres"), Dir: data, Args: args, User: owner,
		End: syscall.SIGINT, // SIGINT requests a fast shutdown, which disconnects clients
		Ready: func(ctx context.Context) error {
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			return conn.Close(ctx)
		},
	})
	if err != nil {
		return nil, err
	}
	return &Postgres{server, url}, nil
}

// postgresTuning are recommended settings for a server with enough memory: a larger cache, and
// rare checkpoints.
// https://wiki.postgresql.org/wiki/Tuning_Your_PostgreSQL_Server
func postgresTuning() []string {
	return []string{"shared_buffers=512MB", "max_wal_size=4GB", "checkpoint_timeout=15min", "wal_buffers=16MB"}
}

// PostgresTuning describes the settings of postgresTuning.
func PostgresTuning() string { return strings.Join(postgresTuning(), ", ") }

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// postgresBin returns the folder with the programs of the newest installed PostgreSQL. Debian does
// not add the folder of PostgreSQL's programs to PATH.
func postgresBin() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		path, err := exec.LookPath("postgres")
		if err != nil {
			return "", fmt.Errorf("run PostgreSQL: %w: apt-get install postgresql (%w)", ErrMissing, err)
		}
		return filepath.Dir(path), nil
	}
	major := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4]) // Atoi returns 0 for a text that is not a number
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return major(a) - major(b) })), nil
}

// postgresUser returns the user that runs PostgreSQL, which refuses to run as root.
func postgresUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("run PostgreSQL, which root may not: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read ID of user postgres: %w", err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read ID of group postgres: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// give creates a folder that belongs to owner, who must have access to the parent folder.
func give(above, folder string, owner *syscall.Credential) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	if owner == nil {
		return nil
	}
	if err := os.Chmod(above, 0o711); err != nil {
		return err
	}
	return os.Chown(folder, int(owner.Uid), int(owner.Gid))
}

func initPostgres(ctx context.Context, bin, data string, owner *syscall.Credential) error {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	cmd.Dir = data
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner, Setpgid: true}
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("make a PostgreSQL database: %w", ctx.Err())
	case err != nil:
		return fmt.Errorf("make a PostgreSQL database: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

// PostgresVersion returns the version of the installed server.
func PostgresVersion(ctx context.Context) (string, error) {
	bin, err := postgresBin()
	if err != nil {
		return "", err
	}
	return processes.Version(ctx, "PostgreSQL", filepath.Join(bin, "postgres"))
}
