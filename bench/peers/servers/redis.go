package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
)

// ErrMissing is the error if a server is not installed.
var ErrMissing = errors.New("it is not installed")

// Redis is a running Redis server.
type Redis struct {
	*processes.Server
	Address string
}

// StartRedis runs Redis with an append-only file. If appendfsync is "always", Redis syncs the file
// before each reply. If appendfsync is "everysec", Redis syncs the file every second.
// https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/
func StartRedis(ctx context.Context, dir, appendfsync string) (*Redis, error) {
	path, err := redisPath()
	if err != nil {
		return nil, err
	}
	port, err := processes.FreePort()
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	server, err := processes.Serve(ctx, processes.Program{
		Path: path, Dir: dir, End: syscall.SIGTERM,
		Args: []string{
			"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
			"--appendonly", "yes", "--appendfsync", appendfsync,
			"--save", "", // disables snapshots, because the append-only file has all data
			"--maxmemory-policy", "noeviction", // tasks must not be evicted
		},
		Ready: func(ctx context.Context) error { return pingRedis(ctx, address) },
	})
	if err != nil {
		return nil, err
	}
	return &Redis{server, address}, nil
}

func redisPath() (string, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", fmt.Errorf("run Redis: %w: apt-get install redis-server (%w)", ErrMissing, err)
	}
	return path, nil
}

// RedisVersion returns the version of the installed server.
func RedisVersion(ctx context.Context) (string, error) {
	path, err := redisPath()
	if err != nil {
		return "", err
	}
	return processes.Version(ctx, "Redis", path)
}

func pingRedis(ctx context.Context, address string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(answer, "+PONG") {
		err = fmt.Errorf("it answers %q", answer)
	}
	return err
}
