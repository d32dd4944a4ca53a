package natsserver_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
)

// TestDamagedFile damages a value in the files of a stopped server. The started server fails to
// replace the value once. It then drops the damage, keeps what stands before the damage, and accepts
// writes again.
func TestDamagedFile(t *testing.T) {
	var log logtest.Log
	cfg := natsserver.Config{Dir: t.TempDir(), Logger: log.Logger()}
	server := natstest.Start(t, cfg)
	bucket := openBucket(t, server)
	for _, key := range []string{"before", "damaged"} {
		if _, err := bucket.PutString(t.Context(), key, "the value "+key); err != nil {
			t.Fatal(err)
		}
	}
	server.Shutdown()
	block := filepath.Join(cfg.Dir, "jetstream", "$G", "streams", "KV_test", "msgs", "1.blk")
	data, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	data[bytes.Index(data, []byte("the value damaged"))] ^= 1
	if err := os.WriteFile(block, data, 0o600); err != nil {
		t.Fatal(err)
	}

	bucket = openBucket(t, natstest.Start(t, cfg))
	for !strings.Contains(log.String(), "a file is damaged") { // a write may never have reached the server
		during, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := bucket.PutString(during, "damaged", "another value")
		cancel()
		if err == nil && !strings.Contains(log.String(), "a file is damaged") {
			t.Fatal("the server replaced the damaged value: it no longer needs a restart")
		}
	}
	log.Await(t, 1, "started again")
	if got, err := bucket.Get(t.Context(), "before"); err != nil || string(got.Value()) != "the value before" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := bucket.PutString(t.Context(), "damaged", "the last value"); err != nil {
		t.Errorf("replace the damaged value: %v", err)
	}
	if got, err := bucket.Get(t.Context(), "damaged"); err != nil || string(got.Value()) != "the last value" {
		t.Errorf("got %v, %v", got, err)
	}
}

// openBucket returns a bucket of a server, and creates the bucket if it is missing.
func openBucket(t *testing.T, server *natsserver.Server) jetstream.KeyValue {
	t.Helper()
	js, err := jetstream.New(natstest.Connect(t, server.URL(), nats.ErrorHandler(nil)), jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := js.CreateOrUpdateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}
