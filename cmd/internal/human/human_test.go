package human

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", time.Minute: "1m", 119 * time.Minute: "1h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 8760 * time.Hour: "365d",
	} {
		if got := Age(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}
