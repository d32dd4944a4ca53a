package exec

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// TestKey checks that a call has another key if its program, its lines, its partition or the number of
// partitions change, and none if an object may change without a trace.
func TestKey(t *testing.T) {
	dir := t.TempDir()
	program, input := filepath.Join(dir, "count"), filepath.Join(dir, "a.txt")
	modified := time.Unix(1e9, 0)
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(content), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, modified, modified); err != nil {
			t.Fatal(err)
		}
	}
	key := func(partition uint64, change ...func(*Params)) []byte {
		t.Helper()
		p := defaults()
		p.Command, p.Input, p.Block = `["`+program+`"]`, input, 4
		for _, f := range change {
			f(&p)
		}
		ctx, release := jobs.WithGrant(context.Background(), granted)
		defer release()
		d := Define(nil)
		plan, err := d.Plan(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		m, err := d.Open(ctx, p, plan)
		if err != nil {
			t.Fatal(err)
		}
		defer m.(interface{ Close() error }).Close()
		return m.(jobs.Keyer).Key(ctx, partition)
	}
	write(program, "#!/bin/sh\nwc -l\n")
	write(input, "1\n2\n3\n4\n")
	first := key(0)
	if first == nil || !bytes.Equal(first, key(0)) {
		t.Fatalf("the keys of the same call are %x and %x", first, key(0))
	}
	if key(0, func(p *Params) { p.Keep = true }) == nil {
		t.Error("calls of a kept process have no key")
	}
	if bytes.Equal(first, key(1)) {
		t.Error("two partitions have the same key")
	}
	write(program, "#!/bin/sh\nwc -c\n")
	if bytes.Equal(first, key(0)) {
		t.Error("another program has the same key")
	}
	write(program, "#!/bin/sh\nwc -l\n")
	write(input, "1\n2\n3\n4\n5\n")
	if bytes.Equal(first, key(0)) {
		t.Error("another input has the same key")
	}
	none := func(p *Params) { p.Input, p.Partitions = "", 2 }
	if two, three := key(0, none), key(0, none, func(p *Params) { p.Partitions = 3 }); two == nil || bytes.Equal(two, three) {
		t.Errorf("two partitions %x, and three %x", two, three)
	}
	modified = time.Now()
	write(input, "1\n")
	if got := key(0); got != nil {
		t.Errorf("lines of a file that was just written have the key %x", got)
	}
	if err := os.Chmod(program, 0o100); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		if got := key(0, none); got != nil {
			t.Errorf("a program that cannot be read has the key %x", got)
		}
	}
}
