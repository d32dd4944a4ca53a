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

// The functions of this file inject faults. Each function returns a function that ends the fault.

func nothing() {}

func kill(_ *cluster, m *node) func() {
	l := m.terminate(syscall.SIGKILL)
	if l == nil {
		return nil
	}
	return func() {
		<-l.Done()
		m.start()
	}
}

func killAll(c *cluster, _ *node) func() {
	var ends []func()
	for _, m := range c.allNodes() {
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

func terminate(_ *cluster, m *node) func() {
	l := m.terminate(syscall.SIGTERM)
	if l == nil {
		return nil
	}
	return func() {
		m.awaitEnd(l)
		m.start()
	}
}

func freeze(_ *cluster, m *node) func() {
	l := m.running()
	if l == nil {
		return nil
	}
	l.Signal(syscall.SIGSTOP)
	return func() { l.Signal(syscall.SIGCONT) }
}

func stepDown(c *cluster, _ *node) func() {
	var next struct{}
	if c.ask(&next, "leader", "step-down") != nil {
		return nil
	}
	return nothing
}

func join(_ *cluster, m *node) func() {
	m.start()
	return nothing
}

func leave(c *cluster, m *node) func() {
	c.remove(m)
	m.shutdown(syscall.SIGTERM)
	return nothing
}

func killNATS(c *cluster, _ *node) func() {
	c.nats.end(syscall.SIGKILL)
	c.history.crashed()
	return c.nats.start
}

func stopNATS(c *cluster, _ *node) func() {
	c.nats.end(syscall.SIGTERM)
	return c.nats.start
}

func freezeNATS(c *cluster, _ *node) func() {
	p := c.nats.running()
	if p == nil {
		return nil
	}
	p.Signal(syscall.SIGSTOP)
	return func() { p.Signal(syscall.SIGCONT) }
}

func stopAzurite(c *cluster, _ *node) func() {
	c.azurite.stop()
	return c.azurite.start
}

func slowLinks(_ *cluster, m *node) func() {
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

func onNATSLink(do func(*faults.TCPProxy)) func(*cluster, *node) func() {
	return func(_ *cluster, m *node) func() {
		do(m.nats)
		return m.nats.Resume
	}
}

func onStorageLinks(do func(*faults.TCPProxy)) func(*cluster, *node) func() {
	return func(_ *cluster, m *node) func() {
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

// dropPackets returns a fault that drops the packets selected by an nftables rule.
func dropPackets(rule string) func(*cluster, *node) func() {
	return func(c *cluster, m *node) func() {
		if err := m.network.drop(rule); err != nil {
			c.history.violation("%v: %v", m, err)
		}
		return func() {
			if err := m.network.pass(); err != nil {
				c.history.violation("%v: %v", m, err)
			}
		}
	}
}

// onRequests returns a fault that applies f to a random third of all storage requests.
func onRequests(f faults.Fault) func(*cluster, *node) func() {
	return func(c *cluster, _ *node) func() {
		c.azurite.transport.Set(func(azureaccount.Kind, *http.Request) faults.Fault {
			if rand.IntN(3) > 0 {
				return faults.Fault{}
			}
			return f
		})
		return func() { c.azurite.transport.Set(nil) }
	}
}
