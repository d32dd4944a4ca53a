package chaos

import (
	"bytes"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// network is a network namespace of Linux: it has a loopback interface and nothing
// else, and rules by which packets are dropped there. It exists as long as it is open
// or a process that was started in it runs.
type network struct {
	work chan func()
	busy sync.Mutex
	done chan struct{}
}

// newNetwork opens a network. It takes root, iproute2 and nftables.
func newNetwork() (*network, error) {
	n := &network{work: make(chan func()), done: make(chan struct{})}
	opened := make(chan error)
	go func() {
		defer close(n.done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := syscall.Unshare(syscall.CLONE_NEWNET)
		opened <- err
		if err != nil {
			return
		}
		for do := range n.work {
			do()
		}
	}()
	if err := <-opened; err != nil {
		return nil, fmt.Errorf("open network namespace: %w", err)
	}
	for _, command := range []string{
		"ip link set lo up",
		"nft add table inet chaos",
		"nft add chain inet chaos input { type filter hook input priority 0; }",
		"nft add set inet chaos links { type inet_service; }",
	} {
		if err := n.run(command); err != nil {
			n.close()
			return nil, err
		}
	}
	return n, nil
}

// do does something on a thread in the network: sockets that it opens and processes
// that it starts belong there.
func (n *network) do(do func()) {
	n.busy.Lock()
	defer n.busy.Unlock()
	done := make(chan struct{})
	n.work <- func() {
		defer close(done)
		do()
	}
	<-done
}

// run runs a command in the network.
func (n *network) run(command string) (err error) {
	words := strings.Fields(command)
	var out []byte
	n.do(func() { out, err = exec.Command(words[0], words[1:]...).CombinedOutput() })
	if err != nil {
		return fmt.Errorf("run %s: %w: %s", command, err, bytes.TrimSpace(out))
	}
	return nil
}

// name says which port is that of a link, for rules.
func (n *network) name(port string) error {
	return n.run("nft add element inet chaos links { " + port + " }")
}

// drop drops the packets that a rule of nftables selects, until pass.
func (n *network) drop(rule string) error {
	return n.run("nft add rule inet chaos input " + rule + " drop")
}

// pass lets all packets pass again.
func (n *network) pass() error { return n.run("nft flush chain inet chaos input") }

// close closes the network.
func (n *network) close() {
	close(n.work)
	<-n.done
}
