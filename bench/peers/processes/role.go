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

// Role is the code that a process runs until ctx is done. The code calls tell to send a message to
// the parent process.
type Role func(ctx context.Context, config []byte, tell func(any)) error

// RoleOf returns the role of a function that takes a decoded configuration.
func RoleOf[C any](run func(ctx context.Context, config C, tell func(any)) error) Role {
	return func(ctx context.Context, data []byte, tell func(any)) error {
		var config C
		if err := json.Unmarshal(data, &config); err != nil {
			return fmt.Errorf("read config: %w", err)
		}
		return run(ctx, config, tell)
	}
}

// begin is the argument that precedes the role and its configuration.
const begin = "be"

// Main runs the role of this process and exits. If the process has no role, Main returns.
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
		os.Exit(1) // the parent process has ended
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
