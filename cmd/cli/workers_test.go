package cli

import (
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestWorkersTableShowsHeldBytes(t *testing.T) {
	var table strings.Builder
	for _, one := range []bool{true, false} {
		var table strings.Builder
		workers := []client.Worker{{ID: "w1", Build: "amd64", Version: "v1"}, {ID: "w2", Build: "amd64", Version: "v1"}}
		if !one {
			workers[1].Version = "v2"
		}
		workersTable(&table, client.Workers{Workers: workers})
		if got := table.String(); strings.Contains(got, "BUILD\tVERSION\n") == one || strings.Contains(got, "\nbuild amd64, version v1\n") != one {
			t.Errorf("all of one version: %t: got\n%s", one, got)
		}
	}
	workersTable(&table, client.Workers{Workers: []client.Worker{
		{ID: "w1", Host: "h1", PID: 4, Slots: 2, Leader: true, State: "busy", Usage: wire.Usage{Memory: 9e9, Nodes: 3, NodeBytes: 4e9}},
		{ID: "w2", Host: "h2", PID: 5, Slots: 2, State: "idle"},
	}})
	for _, want := range []string{
		"ID\tHOST\tPID\tSLOTS\tLOST\tLEADER\tSTATE\tHELD\t",
		"\nw1\th1\t4\t2\t0\tleads\tbusy\t4.0 GB\t",
		"\nw2\th2\t5\t2\t0\t\tidle\t0 B\t",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &table)
		}
	}
}
