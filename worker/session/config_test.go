package session

import (
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestConfig(t *testing.T) {
	good := Config{Worker: "w", Hello: wire.Hello{Slots: 1}}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Config){
		`Worker "W 1": want`:             func(c *Config) { c.Worker = "W 1" },
		"Hello.Slots 0: want":            func(c *Config) { c.Hello.Slots = 0 },
		"MaxKept -1: want":               func(c *Config) { c.MaxKept = -1 },
		"Timing.HandOver -1ns: want":     func(c *Config) { c.Timing.HandOver = -1 },
		"Timing.Interval 1ms: want":      func(c *Config) { c.Timing.Interval = time.Millisecond },
		"Timing.MaxInterval 100ms: want": func(c *Config) { c.Timing.MaxInterval = 100 * time.Millisecond },
		"Timing.AnswerTimeout 5ms: want": func(c *Config) { c.Timing.AnswerTimeout = 5 * time.Millisecond },
		"Timing.MaxBackoff 1ms: want":    func(c *Config) { c.Timing.MaxBackoff = time.Millisecond },
		"Timing.DrainTimeout -1s: want":  func(c *Config) { c.Timing.DrainTimeout = -time.Second },
	} {
		c := good
		spoil(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %s", err, want)
		}
	}
}
