package scan

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestMergedRunHasRoom checks that the codec can append the rest of a partial to a merged run without
// copying the run.
func TestMergedRunHasRoom(t *testing.T) {
	var left, right run
	for i := range 1000 {
		group := appendText(appendText(nil, fmt.Sprintf("%04d", i)), "")
		if i%2 == 0 {
			left = append(left, group...)
		} else {
			right = append(right, group...)
		}
	}
	merged, err := mergeRuns(nil, []run{left, right})
	if ends, cutErr := merged.cut(1); err != nil || cutErr != nil || ends[0] != (boundary{len(merged), 1000}) {
		t.Errorf("got %v, %v, %v, want 1000 groups", ends, err, cutErr)
	}
	if room := cap(merged) - len(merged); room < minSlack {
		t.Errorf("room for %d bytes, want at least %d", room, minSlack)
	}
}

// TestMergeManyRuns merges up to nine runs with random keys, of which some are in several runs, some are the beginnings of
// others, and some differ only after eight bytes.
func TestMergeManyRuns(t *testing.T) {
	functions, err := parseAggregates("count")
	if err != nil {
		t.Fatal(err)
	}
	encode := func(groups map[string]uint64) (r run) {
		for _, key := range slices.Sorted(maps.Keys(groups)) {
			r = appendText(appendText(r, key), binary.AppendUvarint(nil, groups[key]))
		}
		return r
	}
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		all := map[string]uint64{}
		runs := make([]run, random.IntN(10))
		for i := range runs {
			groups := map[string]uint64{}
			for range random.IntN(20) {
				key := strings.Repeat("\x00", random.IntN(3)) + strings.Repeat("a", random.IntN(12)) + fmt.Sprint(random.IntN(9))
				key = key[random.IntN(len(key)+1):]
				n := random.Uint64N(1000)
				all[key], groups[key] = all[key]+n, groups[key]+n
			}
			runs[i] = encode(groups)
		}
		if merged, err := mergeRuns(functions, runs); err != nil || !bytes.Equal(merged, encode(all)) {
			t.Fatalf("seed %d: got %q, %v, want %q", seed, merged, err, encode(all))
		}
	}
}

// TestFreshKeys adds keys to a table, most of which are new, then keys that are there already, and new ones again.
func TestFreshKeys(t *testing.T) {
	q, err := newQuery(Params{By: "key", Aggregate: "count"})
	if err != nil {
		t.Fatal(err)
	}
	add := func(to *table, key int) {
		if to.full() {
			if err := to.flush(); err != nil {
				t.Fatal(err)
			}
		}
		to.states[0].add(to.group([]byte(strconv.Itoa(key))), &values{})
	}
	fresh := &table{}
	fresh.bind(q.aggregates, []int{-1})
	want := map[string]uint64{}
	for i := range 6 * maxGroups {
		key := i
		if i/maxGroups%3 == 2 {
			key = i % fewGroups / 4
		}
		if add(fresh, key); i == maxGroups && !fresh.fresh || i == 4*maxGroups && fresh.fresh {
			t.Fatalf("after %d keys, fresh is %v", i, fresh.fresh)
		}
		want[strconv.Itoa(key)]++
	}
	if err := fresh.settle(); err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for c := (cursor{rest: fresh.runs[0]}); ; {
		if err := c.next(); err != nil {
			t.Fatal(err)
		}
		if c.done() {
			break
		}
		got[string(c.key)], _ = binary.Uvarint(c.states)
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %d keys, want %d with the same counts", len(got), len(want))
	}
}

// TestMergeOfUnevenRuns merges runs whose first eighths have the same keys and whose other groups do not, or the reverse,
// so that the estimated size of the merged run is wrong.
func TestMergeOfUnevenRuns(t *testing.T) {
	const groups, shared = 40_000, 8_000
	for name, both := range map[string]func(i int) bool{
		"first groups shared": func(i int) bool { return i < shared },
		"last groups shared":  func(i int) bool { return i >= shared },
	} {
		var left, right, want run
		for i := range groups {
			group := appendText(appendText(nil, fmt.Sprintf("%06d", i)), "")
			want = append(want, group...)
			if both(i) || i%2 == 0 {
				left = append(left, group...)
			}
			if both(i) || i%2 == 1 {
				right = append(right, group...)
			}
		}
		if merged, err := mergeRuns(nil, []run{left, right}); err != nil || !bytes.Equal(merged, want) {
			t.Errorf("%s: got %d bytes, %v, want %d", name, len(merged), err, len(want))
		}
		if _, err := mergeRuns(nil, []run{left, right[:len(right)-1]}); err == nil {
			t.Errorf("%s: got no error for a damaged run", name)
		}
	}
}
