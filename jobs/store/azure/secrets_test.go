package azure_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/deploy/local/secrettest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// TestErrorsHaveNoSecrets checks that no error and no log line contains a secret, for any response
// of the endpoint.
func TestErrorsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	secrettest.EachAccount(t, func(t *testing.T, a *account.Account) {
		var log logtest.Log
		d, err := azure.Open(a, azure.Config{
			Cluster: "secrets", CallTimeout: 100 * time.Millisecond,
			Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		if err != nil {
			t.Fatal(err)
		}
		secrettest.WantErrors(t, map[string]func(context.Context) error{
			"Check":        d.Check,
			"Get":          func(ctx context.Context) error { _, _, err := d.Get(ctx, "a/b"); return err },
			"Put":          func(ctx context.Context) error { _, err := d.Put(ctx, "a/b", []byte("x"), store.IfAbsent); return err },
			"Delete":       func(ctx context.Context) error { return d.Delete(ctx, "a/b") },
			"List":         func(ctx context.Context) error { _, err := d.List(ctx, "a/"); return err },
			"DeletePrefix": func(ctx context.Context) error { return d.DeletePrefix(ctx, "a/") },
			"Send":         func(ctx context.Context) error { return d.Send(ctx, []byte("x")) },
			"Receive": func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
				defer cancel()
				_, err := d.Receive(ctx)
				return err
			},
		})
		if secret := secrettest.Find(log.String()); secret != "" {
			t.Errorf("the log contains %s:\n%s", secret, &log)
		}
	})
}
