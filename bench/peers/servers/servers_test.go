package servers_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/bench/peers/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// need skips the test if a server is not installed.
func need(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, servers.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// folder returns a folder to which other users can be given access. The folders of package testing
// are below a folder that only root can access.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "peers-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func refused(t *testing.T, address string) {
	t.Helper()
	if conn, err := net.Dial("tcp", address); err == nil {
		_ = conn.Close()
		t.Errorf("somebody still listens on %s", address)
	}
}

func TestRedisStartsAndStops(t *testing.T) {
	r, err := servers.StartRedis(t.Context(), folder(t), "always")
	need(t, err)
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	refused(t, r.Address)
}

func TestRedisRefusesAnUnknownSetting(t *testing.T) {
	_, err := servers.RedisVersion(t.Context())
	need(t, err)
	if r, err := servers.StartRedis(t.Context(), folder(t), "sometimes"); err == nil {
		t.Error("it started")
		_ = r.Stop()
	}
}

func TestPostgresStartsAndStops(t *testing.T) {
	for _, synchronous := range []bool{true, false} {
		p, err := servers.StartPostgres(t.Context(), folder(t), synchronous)
		need(t, err)
		conn, err := pgx.Connect(t.Context(), p.URL)
		if err != nil {
			t.Fatal(err)
		}
		var setting string
		if err := conn.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&setting); err != nil {
			t.Error(err)
		}
		if want := map[bool]string{true: "on", false: "off"}[synchronous]; setting != want {
			t.Errorf("synchronous_commit is %s, want %s", setting, want)
		}
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := pgx.Connect(t.Context(), p.URL); err == nil {
			t.Error("it still answers")
		}
	}
}

func TestNATSStartsAndStops(t *testing.T) {
	n, err := servers.StartNATS(t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(n.URL())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	n.Stop()
	if _, err := nats.Connect(n.URL()); err == nil {
		t.Error("it still answers")
	}
}
