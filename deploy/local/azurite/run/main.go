// Command run runs Azurite on its default ports until an interrupt, and prints how to use
// Azurite.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
)

func main() {
	dir := flag.String("dir", "", "data directory (default: in memory)")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := azurite.Start(ctx, azurite.Config{
		Dir: dir, BlobPort: 10000, QueuePort: 10001, TablePort: 10002,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	fmt.Printf("export BELLWETHER_STORAGE=azure\nexport AZURE_STORAGE_CONNECTION_STRING='%s'\n", server.ConnectionString())
	select {
	case <-ctx.Done():
	case <-server.Done():
		return errors.New("the Azurite process has ended")
	}
	return server.Stop()
}
