package check

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// release builds a release of the current commit in a clone, and returns its files.
func release(t *testing.T) map[string][]byte {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "clone")
	if err := run("git", "clone", "--quiet", "--no-hardlinks", root, clone); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(clone, "deploy/release/build"), runtime.GOOS+"/"+runtime.GOARCH).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files := map[string][]byte{}
	entries, err := os.ReadDir(filepath.Join(clone, "bin/release"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "_image.tar") { // its base image may change
			files[e.Name()] = []byte(read(t, filepath.Join(clone, "bin/release", e.Name())))
		}
	}
	return files
}

// find returns the only file whose name has a form.
func find(t *testing.T, files map[string][]byte, form string) []byte {
	t.Helper()
	var found []byte
	for name, data := range files {
		if regexp.MustCompile(form).MatchString(name) {
			if found != nil {
				t.Fatalf("two files are like %s", form)
			}
			found = data
		}
	}
	if found == nil {
		t.Fatalf("no file is like %s", form)
	}
	return found
}

// TestRelease builds a release twice, in two folders, and checks that all files are the same and that
// they can be used.
func TestRelease(t *testing.T) {
	files, again := release(t), release(t)
	if len(files) != len(again) {
		t.Fatalf("got %d files, and then %d", len(files), len(again))
	}
	for name, data := range files {
		if !bytes.Equal(data, again[name]) {
			t.Errorf("%s: the two builds differ", name)
		}
		if name != "SHA256SUMS" && !strings.Contains(string(files["SHA256SUMS"]), "  "+name+"\n") {
			t.Errorf("SHA256SUMS has no line for %s", name)
		}
	}

	program := filepath.Join(t.TempDir(), "bellwether")
	archive := find(t, files, `^bellwether_v\S+_\w+_\w+\.tar\.gz$`)
	if err := os.WriteFile(program, unpack(t, archive)["bellwether"], 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "version", "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var version struct {
		Version  string
		Modified bool
	}
	if err := json.Unmarshal(out, &version); err != nil || version.Modified || files["bellwether_"+version.Version+"_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"] == nil {
		t.Errorf("the program says %s, %v", out, err)
	}

	chart, err := loader.LoadArchive(bytes.NewReader(find(t, files, `^bellwether-\S+\.tgz$`)))
	if err != nil {
		t.Fatal(err)
	}
	if "v"+chart.Metadata.Version != version.Version {
		t.Errorf("the chart has version %s, the program %s", chart.Metadata.Version, version.Version)
	}

	var bill struct {
		BOMFormat  string
		Components []struct{ Name string }
	}
	if err := json.Unmarshal(find(t, files, `\.cdx\.json$`), &bill); err != nil || bill.BOMFormat != "CycloneDX" {
		t.Fatalf("got %+v, %v", bill, err)
	}
	for _, want := range []string{"std", "github.com/nats-io/nats.go"} {
		if !slices.ContainsFunc(bill.Components, func(c struct{ Name string }) bool { return c.Name == want }) {
			t.Errorf("the bill of materials does not name %s", want)
		}
	}
}

// unpack returns the files of an archive.
func unpack(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	r := tar.NewReader(z)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
