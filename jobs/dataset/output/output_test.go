package output

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/local"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

var columns = []Column{{"x", "text"}}

// onRemove is a driver that calls a function before each removal.
type onRemove struct {
	*memory.Driver
	call func()
}

func (d onRemove) Remove(ctx context.Context, name string) error {
	d.call()
	return d.Driver.Remove(ctx, name)
}

func put(t *testing.T, f Folder, label, text string) Part {
	t.Helper()
	p, err := f.Write(t.Context(), label, columns, func(yield func([][]byte) bool) { yield([][]byte{[]byte(text)}) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// names returns the names of all objects, without the random parts.
func names(t *testing.T, d *memory.Driver) (list []string) {
	t.Helper()
	for o, err := range d.List(t.Context(), "mem://out/*") {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, o.Name[:len("mem://out/part-A-1")])
	}
	slices.Sort(list)
	return list
}

func TestAbandon(t *testing.T) {
	d := new(memory.Driver)
	failed, other := Folder{Driver: d, Name: "mem://out/", ID: "A", Format: CSV}, Folder{Driver: d, Name: "mem://out/", ID: "B", Format: CSV}
	lost := put(t, failed, "1", "a")
	kept := put(t, other, "1", "b")
	for range 2 {
		if err := failed.Abandon(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := names(t, d); !slices.Equal(got, []string{"mem://out/part-B-1"}) {
		t.Errorf("got %q, want only the object of the other job", got)
	}
	if _, _, err := failed.Commit(t.Context(), columns, []Part{lost}); !errors.Is(err, source.ErrNotFound) {
		t.Errorf("commit of a removed object: got %v, want ErrNotFound", err)
	}
	if _, _, err := other.Commit(t.Context(), columns, []Part{kept}); err != nil {
		t.Fatal(err) // the failed commit must have removed its manifest
	}
	put(t, failed, "2", "c")
	for _, f := range []Folder{other, failed} {
		if err := f.Abandon(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := names(t, d); !slices.Equal(got, []string{"mem://out/.manifes", "mem://out/part-B-1"}) {
		t.Errorf("got %q, want the committed output of the other job", got)
	}
}

// This job was cancelled, and commits its output while a worker removes the job's objects.
func TestCommitDuringAbandon(t *testing.T) {
	d := new(memory.Driver)
	f := Folder{Driver: d, Name: "mem://out/", ID: "A", Format: CSV}
	part := put(t, f, "1", "a")
	abandoning := f
	abandoning.Driver = onRemove{d, sync.OnceFunc(func() {
		if _, _, err := f.Commit(t.Context(), columns, []Part{part}); err != nil {
			t.Error(err)
		}
	})}
	if err := abandoning.Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := names(t, d); len(got) > 0 {
		t.Errorf("got %q, want no objects and no manifest", got)
	}
}

func TestCommitOfMissingPart(t *testing.T) {
	d := new(memory.Driver)
	f := Folder{Driver: d, Name: "mem://out/", ID: "A", Format: CSV}
	part := put(t, f, "1", "a")
	part.Name = "mem://o%75t/" + part.Name[len("mem://out/"):]
	if _, _, err := f.Commit(t.Context(), columns, []Part{part}); !errors.Is(err, source.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	if got := names(t, d); !slices.Equal(got, []string{"mem://out/part-A-1"}) {
		t.Errorf("got %q, want the object and no manifest", got)
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{
		"/data/out": true, "azblob://c/a%5Bb/": true, "https://h/c/caf%c3%a9/": true,
		`azblob://c/a\b/`: false, "https://h/c/a%5bb/": false, "https://h/c/a%5Cb/": false, "https://h/c/%3F/": false, "/data/*": false, "https://h/c/%zz": false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzManifest(f *testing.F) {
	part := func(name string, rows uint64) Part { return Part{Name: name, Rows: rows, Bytes: 3, SHA256: "x"} }
	var seeds [][]byte
	for _, m := range []Manifest{
		{ID: "a", Format: CSV, Columns: []Column{{"x", "text"}}, Rows: 3, Bytes: 6, Objects: []Part{part("/o/part-a-1", 1), part("/o/part-a-2", 2)}},
		{ID: "a", Format: CSV, Rows: 2, Bytes: 6, Objects: []Part{part("/o/part-a-1", 1), part("/o/part-a-1", 1)}},
		{ID: "a", Rows: 2, Bytes: 6, Objects: []Part{part("/o/part-a-1", 1), part("/p/part-a-2", 1)}},
		{ID: "a", Rows: 1, Bytes: 3, Objects: []Part{part("part-b-1", 1)}},
		{ID: "a", Rows: 2},
		{},
	} {
		content, err := m.encode()
		if err != nil {
			f.Fatal(err)
		}
		if _, err := decode(content); (err == nil) != (len(seeds) == 0 || m.ID == "") {
			f.Errorf("%s: %v", content, err)
		}
		seeds = append(seeds, content)
	}
	recode := func(content []byte) ([]byte, error) {
		m, err := decode(content)
		if err != nil {
			return nil, err
		}
		return m.encode()
	}
	fuzztest.Recode(f, recode, []error{errManifest}, seeds...)
}

// A file that a killed process has left is removed at the end of the job.
func TestTemporaryFiles(t *testing.T) {
	name := t.TempDir() + "/"
	f := Folder{Driver: local.Driver{Folders: []string{"/"}}, Name: name, ID: "a", Format: CSV}
	part := put(t, f, "1", "a")
	for _, left := range []string{".part-a-1.csv.new-1", ".part-b-1.csv.new-1"} {
		if err := os.WriteFile(name+left, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := f.Commit(t.Context(), columns, []Part{part}); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(name + ".part-*")
	if err != nil || !slices.Equal(left, []string{name + ".part-b-1.csv.new-1"}) {
		t.Errorf("got %q, %v, want the file of the other job", left, err)
	}
}

// TestIsQuoted compares the search by words with one by bytes.
func TestIsQuoted(t *testing.T) {
	for n := range 20 {
		field := bytes.Repeat([]byte{'x'}, n)
		for at := range n {
			for c := range 256 {
				field[at] = byte(c)
				if got, want := isQuoted(field), bytes.IndexByte([]byte(",\"\r\n"), byte(c)) >= 0; got != want {
					t.Errorf("%q: got %v, want %v", field, got, want)
				}
			}
			field[at] = 'x'
		}
	}
}
