package scan

import (
	"strings"
	"testing"
)

// TestInstants compares times of which only some have a fraction, and texts that are no times.
func TestInstants(t *testing.T) {
	name := write(t, "times.csv", "ts\n2024-01-02T10:00:00Z\n2024-01-02T10:00:00.5Z\n2024-01-02T10:00:00.25Z\n2024-01-02T09:59:59.999Z\n")
	for query, want := range map[string]string{
		"aggregate=min(ts),max(ts)":                                          `[["2024-01-02T09:59:59.999Z","2024-01-02T10:00:00.5Z"]]`,
		"columns=ts;order=-ts":                                               `[["2024-01-02T10:00:00.5Z"],["2024-01-02T10:00:00.25Z"],["2024-01-02T10:00:00Z"],["2024-01-02T09:59:59.999Z"]]`,
		"by=ts;aggregate=count;order=ts;limit=2":                             `[["2024-01-02T09:59:59.999Z",1],["2024-01-02T10:00:00Z",1]]`,
		"aggregate=count;where=ts > '2024-01-02 10:00:00'":                   `[[2]]`,
		"aggregate=count;where=ts >= '2024-01-02T12:00:00+02:00'":            `[[3]]`,
		"aggregate=count;where=ts == '2024-01-02 10:00:00.500'":              `[[1]]`,
		"aggregate=count;where=ts >= '2024-01-02' and ts < '2024-01-03'":     `[[4]]`,
		"aggregate=count;where=ts != 'a' and not (ts < '2024-01-02 10:00Z')": `[[4]]`,
	} {
		got, err := scan(t, append(strings.Split(query, ";"), "input="+name)...)
		if err != nil || !strings.Contains(got, `"rows":`+want) {
			t.Errorf("%s: got %s, %v, want %s", query, got, err, want)
		}
	}
	for _, text := range []string{"2024-01-02 10:00:00Z", "2024-01-02T10:00:00", "2024-01-02T10:00:00xZ", "2024-01-02T10:00:0.0Z", "T", ""} {
		if key, ok := instant([]byte(text)); ok {
			t.Errorf("%q: got %q, want no instant", text, key)
		}
	}
}
