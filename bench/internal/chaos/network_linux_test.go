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

// network is a Linux network namespace with a loopback interface and rules that drop packets.
// The namespace exists until it is closed and all processes in the namespace have ended.
type network struct {
	work chan func()
	busy sync.Mutex
	done chan struct{}
}

// newNetwork makes a network namespace. newNetwork requires root, iproute2 and nftables.
func newNetwork() (*network, error) {
	n := &network{work: make(chan func()), done: make(chan struct{})}
	opened := make(chan error)
	go func() {
		defer close(n.done)
		runtime.LockOSThread() // the thread is never unlocked, so it ends with the goroutine
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

// do calls the given function on a thread in the network namespace. Sockets that the function opens
// and processes that it starts belong to the namespace.
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

func (n *network) run(command string) (err error) {
	words := strings.Fields(command)
	var out []byte
	n.do(func() { out, err = exec.Command(words[0], words[1:]...).CombinedOutput() })
	if err != nil {
		return fmt.Errorf("run %s: %w: %s", command, err, bytes.TrimSpace(out))
	}
	return nil
}

func (n *network) name(port string) error {
	return n.run("nft add element inet chaos links { " + port + " }")
}

// drop drops the packets that an nftables rule selects, until pass is called.
func (n *network) drop(rule string) error {
	return n.run("nft add rule inet chaos input " + rule + " drop")
}

func (n *network) pass() error { return n.run("nft flush chain inet chaos input") }

func (n *network) close() {
	close(n.work)
	<-n.done
}
