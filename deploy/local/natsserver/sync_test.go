package natsserver

import "testing"

// A process that is killed loses nothing that the system has taken; only the
// machine's death shows whether a write was synced. So this looks at the setting.
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
