package ledger

import (
	"strings"
	"testing"
	"time"
)

func TestConfigIsChecked(t *testing.T) {
	for want, cfg := range map[string]Config{
		"":                   {Epoch: 1},
		"epoch":              {},
		"horizon":            {Epoch: 1, Horizon: 300 * time.Millisecond},
		"silent-after":       {Epoch: 1, SilentAfter: 300 * time.Millisecond},
		"settle-at-least":    {Epoch: 1, RecoveryGrace: 2 * time.Second},
		"retry-after":        {Epoch: 1, RetryAfter: time.Minute},
		"reports-per-second": {Epoch: 1, ReportsPerSecond: -1},
		"negative":           {Epoch: 1, CheckpointEvery: -1},
	} {
		_, err := New(cfg, 0)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want an error that names %q", cfg, err, want)
		}
	}
}
