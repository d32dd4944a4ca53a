// Package sourcetest is the conformance suite for drivers of package source.
package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Place is a driver together with a place in its storage that contains no objects.
type Place struct {
	Driver source.Driver
	Base   string // beginning of the names of all objects in the place; ends in a slash

	// Put writes or replaces an object, and Delete deletes an object. Put and Delete work without
	// the driver.
	Put    func(t *testing.T, name string, content []byte)
	Delete func(t *testing.T, name string)
}

// Test runs the suite for drivers. The function open returns an empty place.
func Test(t *testing.T, open func(t *testing.T) Place) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, p Place)
	}{
		{"one object", oneObject},
		{"ranges", ranges},
		{"empty object", emptyObject},
		{"missing object", missingObject},
		{"changed object", changedObject},
		{"done context", doneContext},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// TestListing runs the suite for drivers that list more than one object.
func TestListing(t *testing.T, open func(t *testing.T) Place) {
	p := open(t)
	names := []string{"a.csv", "b.csv", "b.csv.gz", "sub/c.csv", "sub/deep/d.csv", ".hidden", "sub/.tmp/e.csv", "sub2/f with space.csv"}
	for _, name := range names {
		p.Put(t, p.Base+name, []byte(name))
	}
	for pattern, want := range map[string][]string{
		"*.csv":     {"a.csv", "b.csv"},
		"?.csv*":    {"a.csv", "b.csv", "b.csv.gz"},
		"*/*.csv":   {"sub/c.csv", "sub2/f with space.csv"},
		"sub/":      {"sub/c.csv", "sub/deep/d.csv"},
		"nothing-*": nil,
		"":          {"a.csv", "b.csv", "b.csv.gz", "sub/c.csv", "sub/deep/d.csv", "sub2/f with space.csv"},
	} {
		objects, err := list(t.Context(), p, p.Base+pattern)
		if err != nil {
			t.Errorf("list %q: %v", pattern, err)
		}
		var got []string
		for _, o := range objects {
			name := strings.ReplaceAll(strings.TrimPrefix(o.Name, p.Base), "%20", " ")
			got = append(got, name)
			if content := read(t, p, o, 0, o.Size); string(content) != name {
				t.Errorf("%s contains %q", o.Name, content)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("list %q: got %q, want %q", pattern, got, want)
		}
	}
}

// TestPruner runs the suite for drivers that can leave out folders.
func TestPruner(t *testing.T, open func(t *testing.T) Place) {
	p := open(t)
	for _, name := range []string{"a.csv", "y=1/b.csv", "y=1/d=1/c.csv", "y=1/d=2/e.csv", "y=2/d=1/f.csv", "other/g.csv", "y=1/.h/i.csv"} {
		p.Put(t, p.Base+name, []byte(name))
	}
	pruner := p.Driver.(source.Pruner)
	for skip, want := range map[string][]string{
		"":     {"a.csv", "other/g.csv", "y=1/b.csv", "y=1/d=1/c.csv", "y=1/d=2/e.csv", "y=2/d=1/f.csv"},
		"y=2/": {"a.csv", "other/g.csv", "y=1/b.csv", "y=1/d=1/c.csv", "y=1/d=2/e.csv"},
		"d=1/": {"a.csv", "other/g.csv", "y=1/b.csv", "y=1/d=2/e.csv"},
	} {
		var got []string
		for o, err := range pruner.ListPruned(t.Context(), p.Base, func(folder string) bool { return skip != "" && strings.HasSuffix(folder, "/"+skip) }) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimPrefix(o.Name, p.Base))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("without %q: got %q, want %q", skip, got, want)
		}
	}
	for o := range pruner.ListPruned(t.Context(), p.Base, func(string) bool { return false }) {
		if o.Name != "" {
			break // the iteration may end early
		}
	}
}

// TestCreator runs the suite for drivers that create and remove objects.
func TestCreator(t *testing.T, open func(t *testing.T) Place) {
	p := open(t)
	creator := p.Driver.(source.Creator)
	name := p.Base + "out/part-1.csv"
	const racers = 8
	var created atomic.Int64
	var racing sync.WaitGroup
	for i := range racers {
		racing.Go(func() {
			_, err := creator.Create(t.Context(), name, bytes.Repeat([]byte{byte('a' + i)}, 100_000))
			switch {
			case err == nil:
				created.Add(1)
			case !errors.Is(err, source.ErrExists):
				t.Errorf("create: got %v, want ErrExists", err)
			}
		})
	}
	racing.Wait()
	if created.Load() != 1 {
		t.Fatalf("%d of %d creators succeeded, want 1", created.Load(), racers)
	}
	o := stat(t, p, name)
	content := read(t, p, o, 0, o.Size)
	if len(content) != 100_000 || !bytes.Equal(content, bytes.Repeat(content[:1], len(content))) {
		t.Errorf("the object has %d bytes of several creators", len(content))
	}
	if _, err := creator.Create(t.Context(), name, nil); !errors.Is(err, source.ErrExists) {
		t.Errorf("create again: got %v, want ErrExists", err)
	}
	if again := stat(t, p, name); again != o {
		t.Errorf("a failed creation changed %+v to %+v", o, again)
	}
	made, err := creator.Create(t.Context(), p.Base+"empty", nil)
	if listed := stat(t, p, p.Base+"empty"); err != nil || made != listed {
		t.Errorf("create returned %+v, %v, and the listing has %+v", made, err, listed)
	}
	remover := p.Driver.(source.Remover)
	for range 2 {
		if err := remover.Remove(t.Context(), name); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	if left, err := list(t.Context(), p, p.Base+"out/"); len(left) > 0 || err != nil && !errors.Is(err, source.ErrNotFound) {
		t.Errorf("after the removal there are %+v, %v", left, err)
	}
	if again, err := creator.Create(t.Context(), name, []byte("new")); err != nil || again.Size != 3 {
		t.Errorf("create after the removal: %+v, %v", again, err)
	}
}

// TestReplacer runs the suite for drivers that replace objects.
func TestReplacer(t *testing.T, open func(t *testing.T) Place) {
	p := open(t)
	creator, replacer := p.Driver.(source.Creator), p.Driver.(source.Replacer)
	name := p.Base + "out/manifest"
	first, err := creator.Create(t.Context(), name, []byte("first"))
	if err != nil {
		t.Fatal(err)
	}
	const racers = 8
	var replaced atomic.Int64
	var racing sync.WaitGroup
	for i := range racers {
		racing.Go(func() {
			_, err := replacer.Replace(t.Context(), first, bytes.Repeat([]byte{byte('a' + i)}, 100_000+i))
			switch {
			case err == nil:
				replaced.Add(1)
			case !errors.Is(err, source.ErrChanged):
				t.Errorf("replace: got %v, want ErrChanged", err)
			}
		})
	}
	racing.Wait()
	if replaced.Load() != 1 {
		t.Fatalf("%d of %d racers replaced the object, want 1", replaced.Load(), racers)
	}
	second := stat(t, p, name)
	if content := read(t, p, second, 0, second.Size); len(content) < 100_000 || !bytes.Equal(content, bytes.Repeat(content[:1], len(content))) {
		t.Errorf("the object has %d bytes of several racers", len(content))
	}
	third, err := replacer.Replace(t.Context(), second, []byte("3"))
	if listed := stat(t, p, name); err != nil || listed != third || string(read(t, p, third, 0, 1)) != "3" {
		t.Errorf("replace returned %+v, %v, and the listing has %+v", third, err, listed)
	}
	if err := p.Driver.(source.Remover).Remove(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if _, err := replacer.Replace(t.Context(), third, nil); !errors.Is(err, source.ErrNotFound) && !errors.Is(err, source.ErrChanged) {
		t.Errorf("replace after the removal: got %v, want ErrNotFound or ErrChanged", err)
	}
	if left, err := list(t.Context(), p, p.Base+"out/"); len(left) > 0 || err != nil && !errors.Is(err, source.ErrNotFound) {
		t.Errorf("after the removal there are %+v, %v", left, err)
	}
}

func oneObject(t *testing.T, p Place) {
	p.Put(t, p.Base+"a.csv", []byte("a,b\n1,2\n"))
	o := stat(t, p, p.Base+"a.csv")
	if o.Name != p.Base+"a.csv" || o.Size != 8 || o.Tag == "" {
		t.Errorf("got %+v, want the name, 8 bytes and a tag", o)
	}
	if again := stat(t, p, o.Name); again != o {
		t.Errorf("listed twice: %+v and %+v", o, again)
	}
}

func ranges(t *testing.T, p Place) {
	content := make([]byte, 1<<20+77)
	for i := range content {
		content[i] = byte(i * i >> 3)
	}
	p.Put(t, p.Base+"blob", content)
	o := stat(t, p, p.Base+"blob")
	for _, r := range [][2]int64{{0, o.Size}, {0, 1}, {o.Size - 1, o.Size}, {1000, 200_000}, {5, 5}, {0, 0}, {o.Size, o.Size}} {
		if got := read(t, p, o, r[0], r[1]); !bytes.Equal(got, content[r[0]:r[1]]) {
			t.Errorf("range %v: got %d other bytes", r, len(got))
		}
	}
}

func emptyObject(t *testing.T, p Place) {
	p.Put(t, p.Base+"empty", nil)
	o := stat(t, p, p.Base+"empty")
	if got := read(t, p, o, 0, 0); o.Size != 0 || len(got) != 0 {
		t.Errorf("got %+v with %d bytes", o, len(got))
	}
}

func missingObject(t *testing.T, p Place) {
	if _, err := list(t.Context(), p, p.Base+"missing"); !errors.Is(err, source.ErrNotFound) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("list: got %v, want ErrNotFound and the name", err)
	}
	p.Put(t, p.Base+"gone", []byte("content"))
	o := stat(t, p, p.Base+"gone")
	p.Delete(t, o.Name)
	// Some storage services check the header If-Match first, and do not reply that the object is
	// missing.
	if err := readError(p, o); !errors.Is(err, source.ErrNotFound) && !errors.Is(err, source.ErrChanged) || !strings.Contains(err.Error(), "gone") {
		t.Errorf("read: got %v, want ErrNotFound or ErrChanged, and the name", err)
	}
}

func changedObject(t *testing.T, p Place) {
	p.Put(t, p.Base+"a", []byte("first content"))
	o := stat(t, p, p.Base+"a")
	for _, content := range []string{"other content", "longer content than the first", "short", ""} {
		p.Put(t, o.Name, []byte(content))
		if err := readError(p, o); !errors.Is(err, source.ErrChanged) || !strings.Contains(err.Error(), o.Name) {
			t.Errorf("read after the content became %q: got %v, want ErrChanged and the name", content, err)
		}
	}
}

func doneContext(t *testing.T, p Place) {
	p.Put(t, p.Base+"a", []byte("content"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for o, err := range p.Driver.List(ctx, p.Base+"a") {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("list with a done context: %+v, %v", o, err)
		}
	}
}

func list(ctx context.Context, p Place, pattern string) (objects []source.Object, err error) {
	for o, err := range p.Driver.List(ctx, pattern) {
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

func stat(t *testing.T, p Place, name string) source.Object {
	t.Helper()
	objects, err := list(t.Context(), p, name)
	if err != nil || len(objects) != 1 {
		t.Fatalf("list %s: %d objects, %v", name, len(objects), err)
	}
	return objects[0]
}

func read(t *testing.T, p Place, o source.Object, from, to int64) []byte {
	t.Helper()
	stream, err := p.Driver.Read(t.Context(), o, from, to)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(stream)
	if err := errors.Join(err, stream.Close()); err != nil {
		t.Fatal(err)
	}
	return content
}

// readError reads a listed object and returns the error of the read.
func readError(p Place, o source.Object) error {
	stream, err := p.Driver.Read(context.Background(), o, 0, o.Size)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, stream)
	return errors.Join(err, stream.Close())
}
