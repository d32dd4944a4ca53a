package cluster

import (
	"errors"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for _, tt := range []struct{ urls, want string }{
		{"nats://127.0.0.1:4222", "nats://127.0.0.1:4222"},
		{"localhost", "nats://localhost"},
		{"nats://shepherd:wool@a:1, tls://token@b:2", "nats://xxxxx@a:1,tls://xxxxx@b:2"},
	} {
		got, err := redact(tt.urls)
		if err != nil || got != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.urls, got, err, tt.want)
		}
	}
}

func TestRedactRefusesWhatIsNoURL(t *testing.T) {
	for _, urls := range []string{"nats://shepherd:wool@two words", "nats://shepherd:wool@a:port", "nats://wo ol:wool@a"} {
		_, err := redact(urls)
		if !errors.Is(err, ErrConfig) {
			t.Errorf("%s: got %v, want ErrConfig", urls, err)
		}
		if err != nil && strings.Contains(err.Error(), "wool") {
			t.Errorf("%s: the error shows the password: %v", urls, err)
		}
	}
}
