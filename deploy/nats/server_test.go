package nats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
)

func TestMain(m *testing.M) {
	for _, variable := range os.Environ() { // what the caller's environment says of NATS and Azure
		name, _, _ := strings.Cut(variable, "=")
		for _, prefix := range []string{"NATS_", "BELLWETHER_", "AZURE_STORAGE_"} {
			if strings.HasPrefix(name, prefix) {
				_ = os.Unsetenv(name)
			}
		}
	}
	goleak.VerifyTestMain(azuritetest.Main(m))
}

// The users of the configuration.
const (
	worker    = "worker"
	submitter = "submitter"
	observer  = "observer"
)

var passwords = map[string]string{worker: "hay", submitter: "grass", observer: "clover"}

// startServer runs a server with server.conf, after edits: pairs of what is
// replaced and what it is replaced by.
func startServer(t *testing.T, edits ...string) (url string) {
	t.Helper()
	certify(t)
	return run(t, configure(t, "server.conf", edits...)).ClientURL()
}

// configure reads one of the configurations as it is in this folder, for a free
// port and a store of its own.
func configure(t *testing.T, file string, edits ...string) *server.Options {
	t.Helper()
	for user, password := range passwords {
		t.Setenv("BELLWETHER_"+strings.ToUpper(user)+"_PASSWORD", password)
	}
	if len(edits) > 0 {
		file = filepath.Join(edited(t, edits), file)
	}
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	options.Host, options.Port = "127.0.0.1", server.RANDOM_PORT
	if options.JetStream {
		options.StoreDir = filepath.Join(t.TempDir(), "store")
	}
	options.NoSigs, options.NoLog = true, true
	return options
}

// edited copies the configurations. Each edit must find what it replaces.
func edited(t *testing.T, edits []string) (folder string) {
	t.Helper()
	files, err := filepath.Glob("*.conf")
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
		text = []byte(strings.NewReplacer(edits...).Replace(string(text)))
		if err := os.WriteFile(filepath.Join(folder, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(all.String(), edits[i]) {
			t.Fatalf("no configuration contains %q", edits[i])
		}
	}
	return folder
}

// run starts a server that ends with the test.
func run(t *testing.T, options *server.Options) *server.Server {
	t.Helper()
	s := start(t, options)
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return s
}

func start(t *testing.T, options *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}
