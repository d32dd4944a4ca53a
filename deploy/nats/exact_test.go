package nats_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// TestNothingIsAllowedInVain listens to everything while jobs run: all that
// workers may send, somebody does.
func TestNothingIsAllowedInVain(t *testing.T) {
	const shepherd = "user: shepherd, password: dog }\n      { " // a user without bounds
	f := &flock{t: t, url: startServer(t, "user: worker\n", shepherd+"user: worker\n")}
	nc, err := nats.Connect(f.url, nats.UserInfo("shepherd", "dog"), nats.RootCAs(os.Getenv("NATS_CA")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	heard := make(chan *nats.Msg, 1<<16)
	if _, err := nc.ChanSubscribe(">", heard); err != nil {
		t.Fatal(err)
	}
	flush(t, nc)
	f.startWorkers(2)
	f.workWhole(t)
	var done outcome
	f.must(submitter, &done, "submit", "bulky", "--wait")

	sent := map[string]bool{}
	users := configure(t, "server.conf").Users
	i := slices.IndexFunc(users, func(u *server.User) bool { return u.Username == worker })
	for _, allowed := range users[i].Permissions.Publish.Allow {
		if strings.Contains(allowed, ".MSG.GET.") {
			continue // among several servers: TestServerLost
		}
		f.until("somebody sends on "+allowed, func() bool {
			for len(heard) > 0 {
				sent[(<-heard).Subject] = true
			}
			for subject := range sent {
				if server.SubjectsCollide(subject, allowed) {
					return true
				}
			}
			return false
		})
	}
}
