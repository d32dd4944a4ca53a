package natsserver

import "testing"

// TestEveryWriteIsSynced checks the setting, because only a crash of the machine could show whether
// a write was synced.
func TestEveryWriteIsSynced(t *testing.T) {
	s, err := Start(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if cfg := s.nats.JetStreamConfig(); cfg == nil || !cfg.SyncAlways {
		t.Errorf("JetStream runs with %+v", cfg)
	}
}
