package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/local"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/sourcetest"
)

func open(t *testing.T) sourcetest.Place {
	changes := time.Unix(1e9, 0)
	return sourcetest.Place{
		Driver: local.Driver{Folders: []string{"/"}}, Base: t.TempDir() + "/",
		Put: func(t *testing.T, name string, content []byte) {
			changes = changes.Add(time.Nanosecond)
			err := os.MkdirAll(filepath.Dir(name), 0o777)
			if err == nil {
				err = os.WriteFile(name, content, 0o666)
			}
			if err == nil {
				err = os.Chtimes(name, changes, changes)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		Delete: func(t *testing.T, name string) {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func TestConformance(t *testing.T) {
	sourcetest.Test(t, open)
	sourcetest.TestListing(t, open)
	sourcetest.TestPruner(t, open)
	sourcetest.TestCreator(t, open)
	sourcetest.TestReplacer(t, open)
}

func TestRelativeNamesBecomeAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.csv", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"a.csv", "./*.csv", "file://a.csv", "."} {
		for o, err := range (local.Driver{Folders: []string{"/"}}).List(t.Context(), pattern) {
			if err != nil || !filepath.IsAbs(o.Name) || filepath.Base(o.Name) != "a.csv" {
				t.Errorf("%s: got %+v, %v", pattern, o, err)
			}
		}
	}
}

func TestNoPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("the superuser may read every file")
	}
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte("text"), 0); err != nil {
		t.Fatal(err)
	}
	for o, err := range (local.Driver{Folders: []string{"/"}}).List(t.Context(), name) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (local.Driver{Folders: []string{"/"}}).Read(t.Context(), o, 0, 1); !errors.Is(err, source.ErrDenied) {
			t.Errorf("got %v, want ErrDenied", err)
		}
	}
}

// TestFolders checks that a driver that is restricted to folders accesses no other files, even
// through links or "..".
func TestFolders(t *testing.T) {
	allowed, other := t.TempDir(), t.TempDir()
	for _, name := range []string{allowed + "/a.csv", other + "/secret"} {
		if err := os.WriteFile(name, []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(other+"/secret", allowed+"/link"), os.Symlink(other, allowed+"/folder")); err != nil {
		t.Fatal(err)
	}
	d := local.Driver{Folders: []string{"/nonexistent", allowed}}
	for o, err := range d.List(t.Context(), allowed+"/a.csv") {
		if err != nil {
			t.Fatal(err)
		}
		body, err := d.Read(t.Context(), o, 0, 4)
		if err != nil {
			t.Fatal(err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"/link", "/folder/secret", "/*", "/../" + filepath.Base(other) + "/secret", "/"} {
		var last error
		for _, err := range d.List(t.Context(), allowed+name) {
			last = err
		}
		if !errors.Is(last, source.ErrDenied) {
			t.Errorf("list %s: got %v, want ErrDenied", name, last)
		}
	}
	if _, err := d.Read(t.Context(), source.Object{Name: other + "/secret", Size: 4}, 0, 4); !errors.Is(err, source.ErrDenied) {
		t.Errorf("read: got %v, want ErrDenied", err)
	}
	if _, err := d.Create(t.Context(), allowed+"/folder/new/file", nil); !errors.Is(err, source.ErrDenied) {
		t.Errorf("create through a link: got %v, want ErrDenied", err)
	}
	if _, err := d.Create(t.Context(), allowed+"/new/file", nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(other + "/new"); err == nil {
		t.Error("a folder was created outside of the allowed ones")
	}
	for _, err := range (local.Driver{}).List(t.Context(), allowed+"/a.csv") {
		if !errors.Is(err, source.ErrDenied) {
			t.Errorf("no folders: got %v, want ErrDenied", err)
		}
	}
}

func TestLinks(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"/real", "/other"} {
		if err := errors.Join(os.Mkdir(folder+name, 0o777), os.WriteFile(folder+name+"/a.csv", nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("real", folder+"/cur"), os.Symlink("../real", folder+"/other/link")); err != nil {
		t.Fatal(err)
	}
	found := 0
	for o, err := range (local.Driver{Folders: []string{"/"}}).List(t.Context(), folder+"/cur/") {
		if found++; err != nil || filepath.Base(o.Name) != "a.csv" {
			t.Errorf("got %+v, %v", o, err)
		}
	}
	if found != 1 {
		t.Errorf("a link to a folder has %d files, want 1", found)
	}
	var last error
	for _, err := range (local.Driver{Folders: []string{"/"}}).List(t.Context(), folder+"/other/") {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "/other/link") {
		t.Errorf("got %v, want an error that names the link", last)
	}
}

// No error contains a name outside of the allowed folders.
func TestFoundNamesAreSecret(t *testing.T) {
	allowed, other := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Mkdir(other+"/hidden", 0o777), os.WriteFile(other+"/hidden/passwd", nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	d := local.Driver{Folders: []string{allowed}}
	for _, pattern := range []string{"/*/p*", "/", "/hidden/p*", "/missing"} {
		for o, err := range d.List(t.Context(), other+pattern) {
			if !errors.Is(err, source.ErrDenied) || !strings.Contains(err.Error(), other+pattern) || strings.Contains(err.Error(), "passwd") {
				t.Errorf("%s: got %+v, %v, want ErrDenied and the pattern", pattern, o, err)
			}
		}
	}
}

// TestIdentify checks that a file that was modified shortly before is uncertain, and that a file that
// replaces another file has another identity.
func TestIdentify(t *testing.T) {
	d, name := local.Driver{Folders: []string{"/"}}, filepath.Join(t.TempDir(), "a.csv")
	modified := time.Unix(1e9, 0)
	put := func(content string) source.Object {
		file := name + ".new"
		if err := errors.Join(os.WriteFile(file, []byte(content), 0o666), os.Chtimes(file, modified, modified), os.Rename(file, name)); err != nil {
			t.Fatal(err)
		}
		for o, err := range d.List(t.Context(), name) {
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		return source.Object{}
	}
	first := put("old")
	if _, certain := d.Identify(first, modified.Add(time.Second)); certain {
		t.Error("a file that was modified a second ago is certain")
	}
	if _, certain := d.Identify(first, modified.Add(-time.Hour)); certain {
		t.Error("a file of the future is certain")
	}
	later := modified.Add(time.Minute)
	before, certain := d.Identify(first, later)
	if !certain || before == "" {
		t.Errorf("got %q, %v", before, certain)
	}
	keep, err := os.Open(name) // so that the number of the file is not reused
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	if second := put("new"); second != first {
		t.Fatalf("the listing has changed: %+v, %+v", first, second)
	}
	if after, certain := d.Identify(first, later); !certain || after == before {
		t.Errorf("the file that replaced it has the identity %q, %v, and the first had %q", after, certain, before)
	}
	if _, certain := d.Identify(source.Object{Name: name, Size: 99, Tag: first.Tag}, later); certain {
		t.Error("a file of another size is certain")
	}
	if _, certain := (local.Driver{}).Identify(first, later); certain {
		t.Error("a file that the driver may not access is certain")
	}
}
