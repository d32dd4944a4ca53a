package ledger

import (
	"strings"
	"testing"
	"time"
)

func TestConfigErrors(t *testing.T) {
	for want, cfg := range map[string]Config{
		"":                           {Epoch: 1},
		"Epoch 0: want":              {},
		"Horizon 300ms: want":        {Epoch: 1, Horizon: 300 * time.Millisecond},
		"SilentAfter 300ms: want":    {Epoch: 1, SilentAfter: 300 * time.Millisecond},
		"RecoveryGrace 2s: want":     {Epoch: 1, RecoveryGrace: 2 * time.Second},
		"RetryAfter 1m0s: want":      {Epoch: 1, RetryAfter: time.Minute},
		"ReportsPerSecond -1: want":  {Epoch: 1, ReportsPerSecond: -1},
		"CheckpointEvery -1ns: want": {Epoch: 1, CheckpointEvery: -1},
	} {
		_, err := New(cfg, 0)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), "configure ledger: "+want) {
			t.Errorf("%+v: got %v, want %q", cfg, err, want)
		}
	}
}
