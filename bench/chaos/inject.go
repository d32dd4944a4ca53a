//go:build unix

package chaos

import (
	"math/rand/v2"
	"net/http"
	"syscall"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	azureaccount "github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// What follows begins faults, and returns what ends them: see fault.

func nothing() {}

func kill(_ *cluster, m *machine) func() {
	l := m.tell(syscall.SIGKILL)
	if l == nil {
		return nil
	}
	return func() {
		<-l.Done()
		m.start()
	}
}

func killAll(c *cluster, _ *machine) func() {
	var ends []func()
	for _, m := range c.members() {
		if end := kill(c, m); end != nil {
			ends = append(ends, end)
		}
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

func terminate(_ *cluster, m *machine) func() {
	l := m.tell(syscall.SIGTERM)
	if l == nil {
		return nil
	}
	return func() {
		m.awaitEnd(l)
		m.start()
	}
}

func freeze(_ *cluster, m *machine) func() {
	l := m.running()
	if l == nil {
		return nil
	}
	l.Signal(syscall.SIGSTOP)
	return func() { l.Signal(syscall.SIGCONT) }
}

func stepDown(c *cluster, _ *machine) func() {
	var next struct{}
	if c.ask(&next, "leader", "step-down") != nil {
		return nil
	}
	return nothing
}

func join(_ *cluster, m *machine) func() {
	m.start()
	return nothing
}

func leave(c *cluster, m *machine) func() {
	c.remove(m)
	m.retire(syscall.SIGTERM)
	return nothing
}

func killNATS(c *cluster, _ *machine) func() {
	c.nats.end(syscall.SIGKILL)
	c.book.crashed()
	return c.nats.start
}

func stopNATS(c *cluster, _ *machine) func() {
	c.nats.end(syscall.SIGTERM)
	return c.nats.start
}

func freezeNATS(c *cluster, _ *machine) func() {
	p := c.nats.running()
	if p == nil {
		return nil
	}
	p.Signal(syscall.SIGSTOP)
	return func() { p.Signal(syscall.SIGCONT) }
}

func stopAzurite(c *cluster, _ *machine) func() {
	c.azurite.stop()
	return c.azurite.start
}

func slowLinks(_ *cluster, m *machine) func() {
	const each = 100 * time.Millisecond
	links := append(m.storageLinks(), m.nats)
	for _, l := range links {
		l.Delay(each)
	}
	return func() {
		for _, l := range links {
			l.Delay(0)
		}
	}
}

func onNATSLink(do func(*faults.TCPProxy)) func(*cluster, *machine) func() {
	return func(_ *cluster, m *machine) func() {
		do(m.nats)
		return m.nats.Resume
	}
}

func onStorageLinks(do func(*faults.TCPProxy)) func(*cluster, *machine) func() {
	return func(_ *cluster, m *machine) func() {
		for _, l := range m.storageLinks() {
			do(l)
		}
		return func() {
			for _, l := range m.storageLinks() {
				l.Resume()
			}
		}
	}
}

// dropPackets drops those that a rule of nftables selects.
func dropPackets(rule string) func(*cluster, *machine) func() {
	return func(c *cluster, m *machine) func() {
		if err := m.network.drop(rule); err != nil {
			c.book.complain("%v: %v", m, err)
		}
		return func() {
			if err := m.network.pass(); err != nil {
				c.book.complain("%v: %v", m, err)
			}
		}
	}
}

// injure does it to one request in three.
func injure(f faults.Fault) func(*cluster, *machine) func() {
	return func(c *cluster, _ *machine) func() {
		c.azurite.transport.Set(func(azureaccount.Kind, *http.Request) faults.Fault {
			if rand.IntN(3) > 0 {
				return faults.Fault{}
			}
			return f
		})
		return func() { c.azurite.transport.Set(nil) }
	}
}
