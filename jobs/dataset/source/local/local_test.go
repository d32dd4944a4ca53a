package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/local"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/sourcetest"
)

func open(t *testing.T) sourcetest.Place {
	changes := time.Unix(1e9, 0)
	return sourcetest.Place{
		Driver: local.Driver{}, Base: t.TempDir() + "/",
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
		for o, err := range (local.Driver{}).List(t.Context(), pattern) {
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
	for o, err := range (local.Driver{}).List(t.Context(), name) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (local.Driver{}).Read(t.Context(), o, 0, 1); !errors.Is(err, source.ErrDenied) {
			t.Errorf("got %v, want ErrDenied", err)
		}
	}
}
