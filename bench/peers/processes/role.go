package processes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Role is what a process does, until its context ends. What it tells is heard by
// the process that started it.
type Role func(ctx context.Context, config []byte, tell func(any)) error

// begin is the word on the command line after which the role and its config come.
const begin = "be"

// Main plays the role that this process was started in, and exits. It returns in a
// process that was not.
func Main(roles map[string]Role) {
	if len(os.Args) != 4 || os.Args[1] != begin {
		return
	}
	role, found := roles[os.Args[2]]
	if !found {
		fmt.Fprintf(os.Stderr, "there is no role %q\n", os.Args[2])
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1) // whoever started this is gone
	}()
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	err := role(ctx, []byte(os.Args[3]), func(v any) {
		mu.Lock()
		defer mu.Unlock()
		if err := out.Encode(v); err != nil {
			fmt.Fprintln(os.Stderr, "tell:", err)
		}
	})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
