package machine

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestConfigDefaults(t *testing.T) {
	for _, duration := range []time.Duration{0, 100 * time.Millisecond, time.Second, 15 * time.Second, time.Minute} {
		cfg := Config{ID: "worker-0", Duration: duration, Rand: rand.New(rand.NewPCG(1, 2))}
		if err := cfg.withDefaults().validate(); err != nil {
			t.Errorf("duration %v: %v", duration, err)
		}
	}
}

func TestConfigErrorsNameTheField(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"ID":          func(c *Config) { c.ID = "a.b" },
		"Duration":    func(c *Config) { c.Duration = time.Millisecond },
		"Margin":      func(c *Config) { c.Margin = -1 },
		"RenewEvery":  func(c *Config) { c.RenewEvery = 9 * time.Second },
		"CallTimeout": func(c *Config) { c.CallTimeout = 6 * time.Second },
		"PingTimeout": func(c *Config) { c.PingTimeout = 1500 * time.Millisecond },
		"SilentAfter": func(c *Config) { c.SilentAfter = 15 * time.Second },
		"StableFor":   func(c *Config) { c.StableFor = -time.Second },
		"Jitter":      func(c *Config) { c.Jitter = 2 * time.Second },
		"Cooldown":    func(c *Config) { c.Cooldown = -time.Second },
		"WatchEvery":  func(c *Config) { c.WatchEvery = -time.Second },
		"PingRate":    func(c *Config) { c.PingRate = math.NaN() },
	} {
		c := Config{ID: "worker-0", Rand: rand.New(rand.NewPCG(1, 2))}
		change(&c)
		_, err := New(c)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("invalid %s: got error %v", name, err)
		}
	}
}

func TestNewNeedsRand(t *testing.T) {
	if _, err := New(Config{ID: "worker-0"}); err == nil || !strings.Contains(err.Error(), "Rand") {
		t.Errorf("no Rand: got error %v", err)
	}
}

func TestNewLeaseID(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	a, b := newLeaseID(random), newLeaseID(random)
	if a == b || len(a) != 36 || a[14] != '4' || !strings.Contains("89ab", a[19:20]) {
		t.Errorf("got %q and %q", a, b)
	}
}
