package output

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

func putFile(t *testing.T, f Folder, label, text string) Part {
	t.Helper()
	p, err := f.WriteFile(t.Context(), label, Part{Path: text, Item: text}, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantFolder checks the files of the manifest, and that the folder has their objects and those of further files.
func wantFolder(t *testing.T, d *memory.Driver, further []Part, want ...Part) {
	t.Helper()
	m, err := Read(t.Context(), d, "mem://out")
	if err != nil || !slices.Equal(m.Objects, want) {
		t.Fatalf("the manifest has %+v, %v, want %+v", m.Objects, err, want)
	}
	var have, all []string
	for o, err := range d.List(t.Context(), "mem://out/part-*") {
		if err != nil {
			t.Fatal(err)
		}
		have = append(have, o.Name)
	}
	for _, p := range slices.Concat(want, further) {
		all = append(all, p.Name)
	}
	slices.Sort(have)
	slices.Sort(all)
	if !slices.Equal(have, all) {
		t.Fatalf("the folder has %v, want %v", have, all)
	}
}

func commit(t *testing.T, f Folder, parts ...Part) {
	t.Helper()
	if name, _, err := f.Commit(t.Context(), nil, parts); err != nil || name != "mem://out/.manifest.json" {
		t.Fatalf("commit: %s, %v", name, err)
	}
}

// A job that retries one with skipped partitions completes its output, and nobody undoes this.
func TestCommitCompletes(t *testing.T) {
	d := new(memory.Driver)
	f := Folder{Driver: d, Name: "mem://out/", ID: "A", Format: Files}
	first, third := putFile(t, f, "1-0", "a"), putFile(t, f, "3-0", "c")
	commit(t, f, first, third)
	late, lost, second := putFile(t, f, "1-0", "a"), putFile(t, f, "2-0", "b"), putFile(t, f, "2-0", "b")
	if err := f.RemoveLate(t.Context(), late, lost, second); err != nil {
		t.Fatal(err)
	}
	if err := f.Abandon(t.Context()); err != nil { // a worker of the first job ends
		t.Fatal(err)
	}
	wantFolder(t, d, []Part{lost, second}, first, third)
	missing := second
	missing.Name += "x"
	if _, _, err := f.Commit(t.Context(), nil, []Part{first, missing, third}); !errors.Is(err, source.ErrNotFound) {
		t.Fatalf("a part is missing: got %v, want ErrNotFound", err)
	}
	wantFolder(t, d, []Part{lost, second}, first, third)
	var racing sync.WaitGroup
	for range 4 { // calls of Finish that do not know of one another
		racing.Go(func() {
			if _, m, err := f.Commit(t.Context(), nil, []Part{first, second, third}); err != nil || len(m.Objects) != 3 {
				t.Errorf("commit: %d files, %v", len(m.Objects), err)
			}
		})
	}
	racing.Wait()
	wantFolder(t, d, nil, first, second, third)
	commit(t, f, first, third) // by a call of Finish of the first job
	wantFolder(t, d, nil, first, second, third)
}

// Two jobs retry the same job. Each computes other partitions that it had skipped, and one partition is computed by both.
func TestTwoRetriesComplete(t *testing.T) {
	d := new(memory.Driver)
	f := Folder{Driver: d, Name: "mem://out/", ID: "A", Format: Files}
	one := putFile(t, f, "1-0", "a")
	commit(t, f, one)
	two, three := putFile(t, f, "2-0", "b"), putFile(t, f, "3-0", "c")
	commit(t, f, one, two, three)
	again, four, more := putFile(t, f, "3-0", "c"), putFile(t, f, "4-0", "d"), putFile(t, f, "4-1", "e")
	if err := f.RemoveLate(t.Context(), again, four, more); err != nil { // removes again
		t.Fatal(err)
	}
	commit(t, f, one, again, four, more)
	wantFolder(t, d, nil, one, two, three, four, more)
	other := putFile(t, f, "4-0", "d") // of a program whose numbers of files differ
	commit(t, f, one, other)
	wantFolder(t, d, nil, one, two, three, four, more)
}

// A call of Finish that was believed dead removes nothing that another job has written or will commit.
func TestStalledCommitRemovesNothing(t *testing.T) {
	d := new(memory.Driver)
	f := Folder{Driver: d, Name: "mem://out/", ID: "A", Format: Files}
	one := putFile(t, f, "1-0", "a")
	commit(t, f, one)
	putFile(t, f, "1-0", "a") // of a lost attempt
	stalled := f
	var two, three Part
	stalled.Driver = onFirstRemove{d, func() {
		two, three = putFile(t, f, "2-0", "b"), putFile(t, f, "3-0", "c")
		commit(t, f, one, two)
	}, new(sync.Once)}
	commit(t, stalled, one)
	wantFolder(t, d, []Part{three}, one, two)
}

// onFirstRemove is a driver that calls a function before its first removal.
type onFirstRemove struct {
	*memory.Driver
	call func()
	once *sync.Once
}

func (d onFirstRemove) Remove(ctx context.Context, name string) error {
	d.once.Do(d.call)
	return d.Driver.Remove(ctx, name)
}

// An output of rows cannot be completed, because one object may have rows of many partitions.
func TestRowsAreNotCompleted(t *testing.T) {
	d := new(memory.Driver)
	f := Folder{Driver: d, Name: "mem://out/", ID: "A", Format: CSV}
	first := put(t, f, "1-0", "a")
	if _, _, err := f.Commit(t.Context(), columns, []Part{first}); err != nil {
		t.Fatal(err)
	}
	second := put(t, f, "2-0", "b")
	if _, _, err := f.Commit(t.Context(), columns, []Part{first, second}); !errors.Is(err, ErrExists) {
		t.Errorf("got %v, want ErrExists", err)
	}
}

// A manifest that is replaced while it is read is read again.
func TestReadOfReplaced(t *testing.T) {
	d := new(memory.Driver)
	f := Folder{Driver: d, Name: "mem://out/", ID: "A", Format: Files}
	first := putFile(t, f, "1-0", "a")
	if _, _, err := f.Commit(t.Context(), nil, []Part{first}); err != nil {
		t.Fatal(err)
	}
	second := putFile(t, f, "2-0", "b")
	reader := onRead{d, func() {
		if _, _, err := f.Commit(t.Context(), nil, []Part{first, second}); err != nil {
			t.Error(err)
		}
	}, new(sync.Once)}
	if m, err := Read(t.Context(), reader, "mem://out"); err != nil || len(m.Objects) != 2 {
		t.Errorf("read %d files, %v; want 2", len(m.Objects), err)
	}
}

// onRead is a driver that calls a function before its first read.
type onRead struct {
	*memory.Driver
	call func()
	once *sync.Once
}

func (d onRead) Read(ctx context.Context, o source.Object, from, to int64) (io.ReadCloser, error) {
	d.once.Do(d.call)
	return d.Driver.Read(ctx, o, from, to)
}
