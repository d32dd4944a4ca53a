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
	sourcetest.TestCreator(t, open)
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
