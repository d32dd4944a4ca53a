package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/exec/account"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// withGrant returns a context with which jobs may use all files.
func withGrant(t *testing.T) context.Context {
	t.Helper()
	ctx, release := jobs.WithGrant(t.Context(), granted)
	t.Cleanup(release)
	return ctx
}

// filesOf returns the files of an output as lines of the item, the path and the content.
func filesOf(t *testing.T, folder string) (list []string) {
	t.Helper()
	ctx := withGrant(t)
	m, err := output.Read(ctx, dataset.Open(ctx), folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Objects {
		content, err := output.Content(ctx, dataset.Open(ctx), p)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %s %s", p.Item, p.Path, content))
	}
	if names, err := os.ReadDir(folder); err != nil || len(names) != len(m.Objects)+1 {
		t.Errorf("the folder has %d files, %v; want the %d of the manifest, and the manifest", len(names), err, len(m.Objects))
	}
	return list
}

func TestOutput(t *testing.T) {
	in := writeFiles(t, map[string]string{"a.txt": "one", "b.txt": "two", "none.txt": ""})
	t.Setenv("TMPDIR", t.TempDir())
	const script = `[ -s $1 ] || exit 0; mkdir -p "$BELLWETHER_OUT/deep er/x" "$BELLWETHER_OUT/empty"; cp $1 "$BELLWETHER_OUT/deep er/x/"; echo $1 > $BELLWETHER_OUT/.name; echo $1`
	for _, merge := range []string{"concat", "sorted", "program"} {
		folder := filepath.Join(t.TempDir(), "out")
		words := []string{"sh", "-c", script, "sh", "{}"}
		if merge == "program" {
			words[2] = "[ $BELLWETHER_PHASE = merge ] && exec cat $1 $2; " + script
		}
		r, err := run(t, []string{command(words...), "input=" + in + "/*", "split=file", "merge=" + merge, "output=" + folder})
		if err != nil {
			t.Fatal(err)
		}
		if want := "a.txt\nb.txt\n"; r.Text != want {
			t.Errorf("merge %s: standard output is %q, want %q", merge, r.Text, want)
		}
		if want := (Files{folder + "/.manifest.json", 3, 4, 18}); r.Files == nil || *r.Files != want {
			t.Errorf("merge %s: got %+v, want %+v", merge, r.Files, want)
		}
		want := []string{in + "/a.txt .name a.txt\n", in + "/a.txt deep er/x/a.txt one", in + "/b.txt .name b.txt\n", in + "/b.txt deep er/x/b.txt two"}
		if got := filesOf(t, folder); !slices.Equal(got, want) {
			t.Errorf("merge %s: got %q, want %q", merge, got, want)
		}
		if _, err := run(t, append(shell("true"), "output="+folder)); !errors.Is(err, output.ErrExists) || !jobs.IsPermanent(err) {
			t.Errorf("the same folder again: got %v, want ErrExists, permanent", err)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	folder := filepath.Join(t.TempDir(), "out")
	if r, err := run(t, append(shell("true"), "output="+folder, "partitions=3")); err != nil || *r.Files != (Files{folder + "/.manifest.json", 3, 0, 0}) {
		t.Errorf("an output without files: %+v, %v", r.Files, err)
	}
}

// TestBadOutput checks that calls whose files cannot be stored fail, and leave nothing in the folder of the output.
func TestBadOutput(t *testing.T) {
	secret := filepath.Join(writeFiles(t, map[string]string{"secret": "secret"}), "secret")
	for _, test := range []struct {
		script    string
		want      string
		permanent bool
	}{
		{"echo lost > $BELLWETHER_OUT/a; exit 1", "exit status 1", false},
		{"echo kept > $BELLWETHER_OUT/a; ln -s " + secret + " $BELLWETHER_OUT/b", "map: files of the call: \"b\": it is no file of the program", true},
		{"ln -s $BELLWETHER_OUT/.. $BELLWETHER_OUT/dir", "\"dir\": it is no file of the program", true},
		{"mkfifo $BELLWETHER_OUT/pipe", "\"pipe\": it is no file of the program", true},
		{"head -c 600 /dev/zero > $BELLWETHER_OUT/a; head -c 600 /dev/zero > $BELLWETHER_OUT/b", "b has 600 B, and the files of a call may have 1000 B in all", true},
		{"head -c 1000000000000 /dev/null; truncate -s 1T $BELLWETHER_OUT/sparse", "sparse has 1.0 TiB", true},
		{`touch "$BELLWETHER_OUT/$(printf 'a\nb')"`, `"a\nb": want a path`, true},
		{`cd $BELLWETHER_OUT; seq 10001 | xargs touch`, "there are more than 10000", true},
		{"rm -r $BELLWETHER_OUT", "no such file", false},
		{"rmdir $BELLWETHER_OUT; ln -s / $BELLWETHER_OUT", "map: files of the call", true},
	} {
		folder := filepath.Join(t.TempDir(), "out")
		_, err := run(t, append(shell(test.script), "output="+folder, "max-output=1000"))
		if err == nil || !strings.Contains(err.Error(), test.want) || jobs.IsPermanent(err) != test.permanent {
			t.Errorf("%s: %v (permanent: %v), want %q (permanent: %v)", test.script, err, jobs.IsPermanent(err), test.want, test.permanent)
		}
		if left, err := os.ReadDir(folder); err == nil && len(left) > 0 {
			t.Errorf("%s: left are %v", test.script, left)
		}
	}
	for pair, want := range map[string]string{"keep=true": "parameters output and keep", "output=a*b": "parameter output: a*b"} {
		if _, err := jobs.MustNew(Define(nil)).Params(nil, command("true"), "output=out", pair); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pair, err, want)
		}
	}
	params, err := jobs.MustNew(Define(nil)).Params(nil, command("true"), "output="+t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := jobs.MustNew(Define(nil)).CheckAudit(params); err == nil || !strings.Contains(err.Error(), "leave out the parameter output") {
		t.Errorf("audit: %v", err)
	}
}

// TestOutputOfLostAttempts makes each call twice, ends the job twice, and makes a call after that. Each file must be
// in the output once.
func TestOutputOfLostAttempts(t *testing.T) {
	folder, ctx := filepath.Join(t.TempDir(), "out"), withGrant(t)
	job := jobs.MustNew(Define(nil))
	params, err := job.Params(nil, append(shell("echo $BELLWETHER_PARTITION > $BELLWETHER_OUT/name.txt"), "partitions=5", "output="+folder)...)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := job.Plan(ctx, params)
	if err != nil {
		t.Fatal(err)
	}
	task, err := job.Engine().Open(ctx, params, plan.Partitions, plan.Data)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	attempt := func(lo, hi uint64) []byte {
		s := task.NewStack()
		if _, err := s.Run(ctx, jobs.Span{Lo: lo, Hi: hi}, new(atomic.Bool)); err != nil {
			t.Fatal(err)
		}
		partials, err := s.Drain(hi)
		if err != nil || len(partials) != 1 {
			t.Fatalf("%d partials, %v", len(partials), err)
		}
		return partials[0].Data
	}
	var results [2]string
	for i := range results {
		root, err := job.Engine().Merge(ctx, params, engine.Operand{Data: attempt(0, 4)}, engine.Operand{Data: attempt(4, 5)})
		if err != nil {
			t.Fatal(err)
		}
		attempt(2, 3)
		result, _, err := job.Engine().Finish(ctx, params, engine.Operand{Data: root})
		if err != nil {
			t.Fatal(err)
		}
		results[i] = string(result)
	}
	attempt(1, 2)
	if want := []string{" name.txt 0\n", " name.txt 1\n", " name.txt 2\n", " name.txt 3\n", " name.txt 4\n"}; !slices.Equal(filesOf(t, folder), want) {
		t.Errorf("got %q, want %q", filesOf(t, folder), want)
	}
	if results[0] != results[1] {
		t.Errorf("the results differ: %s and %s", results[0], results[1])
	}
}

// TestOutputOfUser runs a program as another user, who must be able to write to the folder, and must not be able
// to make the worker read what only the worker can read.
func TestOutputOfUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run programs as another user")
	}
	as := granted
	as.User = "12345:12345"
	folder := filepath.Join(t.TempDir(), "out")
	r, err := runWith(t, as, append(shell("umask 077; id -u > $BELLWETHER_OUT/id; chmod 0 $BELLWETHER_OUT/id"), "output="+folder))
	if err != nil || r.Files.Files != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := filesOf(t, folder); !slices.Equal(got, []string{" id 12345\n"}) {
		t.Errorf("got %q", got)
	}
	// A hard link to a file of another user is possible if fs.protected_hardlinks is 0.
	dir := writeFiles(t, map[string]string{"secret": "secret"})
	user, err := account.Of(as.User)
	if err != nil {
		t.Fatal(err)
	}
	err = outFolder{dir, 100, user}.each(func(name string, _ []byte) error { return fmt.Errorf("%s was read", name) })
	if !errors.Is(err, errNoFile) {
		t.Errorf("a file of another user: got %v, want errNoFile", err)
	}
}

func FuzzFiles(f *testing.F) {
	seed := newFiles("id", "item", []output.Part{{Name: "x/part-id-1", Path: "a/b", Bytes: 300, SHA256: strings.Repeat("0f", 32)}}).items
	recode := func(data []byte) ([]byte, error) {
		calls, parts, err := files{"id", data}.parts()
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(parts)
		if err != nil || calls > uint64(len(data)) || len(text) > 1000*(len(data)+1) {
			f.Errorf("%d calls and %d bytes of JSON, %v, from %x", calls, len(text), err, data)
		}
		return data, nil
	}
	fuzztest.Recode(f, recode, []error{errPartial}, append(append(newFiles("id", "", nil).items, seed...), seed...))
}

func TestPartials(t *testing.T) {
	f := newFiles("id", "item", []output.Part{{Name: "x/part-id-1", Path: "a", Bytes: 3, SHA256: strings.Repeat("0f", 32)}})
	left, right := newPartial(concat, f, []byte("left ")), newPartial(concat, newFiles("id", "", nil), []byte("right"))
	merged, err := mergePartials(left, right)
	if err != nil {
		t.Fatal(err)
	}
	m, g, body, err := open(merged)
	calls, parts, partsErr := g.parts()
	if err != nil || partsErr != nil || m.name != "concat" || string(body) != "left right" || g.output != "id" || calls != 2 || len(parts) != 1 || parts[0].Item != "item" {
		t.Errorf("%s %+v %q, %d calls, %+v, %v", m.name, g, body, calls, parts, err)
	}
	for partial, want := range map[string]string{
		"concat":            "damaged partial",
		"concat id\n":       "damaged partial",
		"concat id x\n":     "damaged partial",
		"concat id -1\n":    "damaged partial",
		"concat id 5\n1234": "damaged partial",
		"concat  1\n1":      "damaged partial",
		"other\nx":          "parameter merge",
	} {
		if _, _, _, err := open([]byte(partial)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", partial, err, want)
		}
	}
	if _, err := mergePartials(left, newPartial(concat, files{}, nil)); err == nil {
		t.Error("partials of two outputs are merged")
	}
}
