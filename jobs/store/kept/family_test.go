package kept

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

// jobOf returns the configuration of a job with parameters.
func jobOf(b Blobs, params string) Config {
	return Config{Blobs: b, Family: engine.NewKey([]byte(params)), Job: "test", Version: "1", Build: "amd64", Params: []byte(params)}
}

// describe describes a job whose objects are some numbers.
func describe(t *testing.T, cfg Config, objects iter.Seq[engine.InputObject]) {
	t.Helper()
	p := New(cfg)
	p.Describe(objects)
	p.Close(t.Context())
	if s := p.Stats(); s.Failed > 0 {
		t.Fatal(s.Error)
	}
}

func numbers(n int) iter.Seq[engine.InputObject] {
	return func(yield func(engine.InputObject) bool) {
		for i := 0; i < n && yield(engine.InputObject{Name: fmt.Sprintf("\xff%d", i), Version: "\xfe"}); i++ {
		}
	}
}

// TestEarlier checks what is known of an earlier job of the same and of another family.
func TestEarlier(t *testing.T) {
	b := memory.NewBlobs()
	cfg := jobOf(b, `{"by":"a","n":1}`)
	if d, _, ok := New(cfg).Earlier(t.Context()); ok {
		t.Errorf("got %+v of nothing", d)
	}
	describe(t, cfg, func(yield func(engine.InputObject) bool) {
		for range 2 { // two partitions read the same objects
			numbers(3)(yield)
		}
	})
	d, differs, ok := New(cfg).Earlier(t.Context())
	if want := slices.Collect(numbers(3)); !ok || len(differs) > 0 || !d.Known || !reflect.DeepEqual(d.Objects, want) {
		t.Errorf("got %+v, which differs in %q", d, differs)
	}
	other := jobOf(b, `{"by":"b","n":1}`)
	if _, differs, ok := New(other).Earlier(t.Context()); !ok || !slices.Equal(differs, []string{"parameter by"}) {
		t.Errorf("got %v and the differences %q", ok, differs)
	}
	other.Version, other.Build = "2", "arm64"
	if _, differs, _ := New(other).Earlier(t.Context()); !slices.Equal(differs, []string{"version (was 1)", "build (was amd64)", "parameter by"}) {
		t.Errorf("got the differences %q", differs)
	}
	newer := jobOf(b, `{"by":"a","n":2}`)
	newer.Version, newer.Build = "0", "386"
	describe(t, newer, nil)
	if _, differs, _ := New(other).Earlier(t.Context()); len(differs) != 3 {
		t.Errorf("got the differences %q from a job that is newer, but less similar", differs)
	}
	other.Job = "another"
	if d, _, ok := New(other).Earlier(t.Context()); ok {
		t.Errorf("got %+v of another job", d)
	}
	describe(t, cfg, nil)
	if d, _, ok := New(cfg).Earlier(t.Context()); !ok || d.Known {
		t.Errorf("got %+v of a job that does not name its objects", d)
	}
	for _, many := range []int{maxObjects, maxObjects + 1} {
		describe(t, cfg, numbers(many))
		if d, _, ok := New(cfg).Earlier(t.Context()); !ok || d.Known != (many == maxObjects) || len(d.Objects) > maxObjects {
			t.Errorf("got %d of %d objects", len(d.Objects), many)
		}
	}
}

// TestDamagedDescription checks that a damaged description is not used, and costs nothing else.
func TestDamagedDescription(t *testing.T) {
	b := memory.NewBlobs()
	cfg := jobOf(b, "{}")
	describe(t, cfg, numbers(3))
	data, _, err := b.Get(t.Context(), descriptionKey(cfg.Family))
	if err != nil {
		t.Fatal(err)
	}
	data = slices.Clone(data)
	data[len(data)/2] ^= 1
	if _, err := b.Put(t.Context(), descriptionKey(cfg.Family), data, store.Always); err != nil {
		t.Fatal(err)
	}
	p := New(cfg)
	if d, _, ok := p.Earlier(t.Context()); ok || p.Stats().Failed == 0 {
		t.Errorf("got %+v and %+v", d, p.Stats())
	}
}

// TestDescriptionsEnd checks that a sweep removes an old description of a family without packs, and only that.
func TestDescriptionsEnd(t *testing.T) {
	b := memory.NewBlobs()
	put := func(cfg Config, age time.Duration) {
		d := Description{Job: "test", Made: time.Now().Add(-age).Unix()}
		if _, err := b.Put(t.Context(), descriptionKey(cfg.Family), d.encode(), store.Always); err != nil {
			t.Fatal(err)
		}
	}
	put(jobOf(b, "old"), 2*DefaultLifetime)
	put(jobOf(b, "young"), time.Hour)
	put(Config{Family: family}, 2*DefaultLifetime)
	keep(t, b, 0, 10)
	keys, err := b.List(t.Context(), families)
	want := []string{descriptionKey(jobOf(b, "young").Family), descriptionKey(family)}
	if slices.Sort(want); err != nil || !slices.Equal(slices.Sorted(slices.Values(keys)), want) {
		t.Errorf("got %q, %v, want %q", keys, err, want)
	}
}

// FuzzDescription reads a description from any bytes, which must be encoded again to the same bytes.
func FuzzDescription(f *testing.F) {
	f.Add(Description{}.encode())
	f.Add(Description{Job: "test", Version: "1", Made: 1, Objects: slices.Collect(numbers(2)), Known: true}.encode())
	f.Add([]byte("\x01"))
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := decodeDescription(data)
		if err != nil {
			corpus.Refused()
			return
		}
		corpus.Taken()
		if again, err := decodeDescription(d.encode()); err != nil || !reflect.DeepEqual(again, d) {
			t.Fatalf("%+v is encoded again as %+v, %v", d, again, err)
		}
	})
}
