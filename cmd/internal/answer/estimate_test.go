package answer

import (
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

func TestEstimate(t *testing.T) {
	for value, want := range map[string]string{
		`{"value":10.446320634,"low":10.4077868,"high":10.4848544,"error":0.02}`: "10.4463 (10.4078 to 10.4849) from 1,280 partitions",
		`{"value":3}`:     "3 from 1,280 partitions",
		`{"found":false}`: `{"found":false} from 1,280 partitions`,
		`"a\u001b[31mb"`:  `"a\u001b[31mb" from 1,280 partitions`,
		`0.5`:             "0.5 from 1,280 partitions",
		`null`:            "",
	} {
		list := []client.Estimated{{Partitions: 4, Value: []byte("1")}, {Partitions: 1280, Value: []byte(value)}}
		if got := Estimate(list); got != want {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
	if got := Estimate(nil); got != "" {
		t.Errorf("no estimate: got %s", got)
	}
}

func TestStoppedRow(t *testing.T) {
	for want, s := range map[string]*client.Stopped{
		"": nil,
		"stopped\tafter 1,280 partitions, rung 37\n":                                                     {At: 1280, Rung: 37},
		"stopped\tafter 4 partitions, rung 4, because the time was up: another run may stop elsewhere\n": {At: 4, Rung: 4, Timed: true},
	} {
		var b strings.Builder
		if StoppedRow(&b, s); b.String() != want {
			t.Errorf("%+v: got %q, want %q", s, b.String(), want)
		}
	}
}
