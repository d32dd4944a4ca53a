package scan

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// small makes tables move their groups to storage when they are small, until the test ends.
func small(t *testing.T, spill, piece, shard int) {
	t.Helper()
	before := bounds
	t.Cleanup(func() { bounds = before })
	bounds.spill, bounds.piece, bounds.shard = spill, piece, shard
}

// groupsCSV returns records of which many have the same key. Some keys begin with the same bytes, and some are long.
func groupsCSV(records int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("key,n,name\n")
	for range records {
		k := r.IntN(records / 3)
		switch k % 5 {
		case 0:
			fmt.Fprintf(&text, "%s%d", strings.Repeat("long", 20), k)
		case 1:
			fmt.Fprintf(&text, "customer-%06d", k)
		default:
			fmt.Fprintf(&text, "%d", k)
		}
		fmt.Fprintf(&text, ",%d,name %d\n", r.IntN(1000), r.IntN(50))
	}
	return text.String()
}

// TestSecondPass compares the outputs of jobs that move their groups to storage with those of jobs that do not.
func TestSecondPass(t *testing.T) {
	name := write(t, "groups.csv", groupsCSV(4000))
	for _, query := range []string{
		"aggregate=count,sum(n),min(name),max(n),mean(n)",
		"aggregate=count,sum(n);having=count > 5",
		"aggregate=count,sum(n);having=count > 1000",
		"aggregate=count,distinct(n);output-format=ndjson",
		"aggregate=sum(n),max(name);order=-sum(n)",
		"aggregate=sum(n),count;order=-sum(n);limit=17;offset=5",
		"aggregate=sum(n),count;limit=300;having=sum(n) > 500",
		"aggregate=count;offset=40",
		"aggregate=count;order=count,-key;output-format=parquet",
		"aggregate=count,max(name);output-format=parquet",
	} {
		t.Run(query, func(t *testing.T) {
			outputs, err := os.MkdirTemp("", "outputs") // the folder of the test would have a comma in its name
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(outputs) })
			run := func(folder string, more ...string) (rows []string, columns string, rounds uint64) {
				folder = filepath.Join(outputs, folder)
				job := jobs.MustNew(Definition)
				params, err := job.Params(nil, append(append(strings.Split(query, ";"), "by=key", "input="+name, "output="+folder), more...)...)
				if err != nil {
					t.Fatal(err)
				}
				result, err := jobs.Local{Grant: files, Slots: 3, Attempts: 1}.Run(t.Context(), job, params)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(query, "parquet") {
					again, err := scan(t, "input="+folder+"/*.parquet", "columns=key,count")
					if err != nil {
						t.Fatal(err)
					}
					rows = strings.SplitAfter(again[strings.Index(again, `"rows":`):strings.Index(again, `"rows_read"`)], "],")
				} else {
					rows, _ = rowsOf(t, folder)
				}
				before, _, _ := bytes.Cut(result.Result, []byte(`"rows"`))
				return rows, string(before), result.Rounds
			}
			want, wantColumns, rounds := run("whole", "block=200000")
			if rounds != 1 {
				t.Errorf("got %d passes, want 1", rounds)
			}
			small(t, 6000, 1500, 4000)
			for _, block := range []string{"block=60000", "block=10000", "block=4000"} {
				got, columns, rounds := run(block, block)
				if !slices.Equal(got, want) || columns != wantColumns || rounds != 2 {
					t.Errorf("%s: got %d rows, columns %s, in %d passes, want %d, %s, in 2", block, len(got), columns, rounds, len(want), wantColumns)
				}
			}
		})
	}
}

// TestShards cuts runs at keys that are long or the same, into more and fewer shards than there are partitions. Each group is in one
// shard, and each partition computes at most one.
func TestShards(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		small(t, 0, 1+r.IntN(300), 1+r.IntN(1500))
		ctx := engine.WithSpills(t.Context(), &memorySpills{data: map[string][]byte{}})
		groups, runs := map[string]uint64{}, []spilled{}
		functions, err := parseAggregates("count")
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + r.IntN(6) {
			tab := new(table)
			tab.bind(functions, []int{-1})
			for range 1 + r.IntN(200) {
				key := strings.Repeat("k", r.IntN(3)*maxFirst) + fmt.Sprint(r.IntN(300))
				if r.IntN(50) == 0 {
					key = ""
				}
				tab.states[0].(*counts).list[tab.group([]byte(key))]++
				groups[key]++
			}
			pieces, err := spillRun(ctx, tab.encodeRun())
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, pieces)
		}
		s := &shards{Partitions: 1 + r.Uint64N(40)}
		s.Borders = borders(runs, s.Partitions)
		if !slices.IsSortedFunc(s.Borders, bytes.Compare) || len(s.Borders) >= int(s.Partitions) {
			t.Fatalf("seed %d: %d partitions, borders %q", seed, s.Partitions, s.Borders)
		}
		found, last := map[string]uint64{}, -1
		for partition := range s.Partitions {
			shard, ok := s.at(partition)
			if !ok {
				continue
			}
			if shard != last+1 {
				t.Fatalf("seed %d: partition %d computes shard %d after shard %d", seed, partition, shard, last)
			}
			last = shard
			var begin []byte
			if shard > 0 {
				begin = s.end(shard - 1)
			}
			m, err := newMerging(ctx, functions, runs, begin)
			if err != nil {
				t.Fatal(err)
			}
			for before := ""; ; {
				ok, err := m.next(ctx, s.end(shard))
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				if _, twice := found[string(m.key)]; twice || string(m.key) < before {
					t.Fatalf("seed %d: group %q is there twice, or after %q", seed, m.key, before)
				}
				before = string(m.key)
				found[before], _ = binary.Uvarint(m.states)
			}
		}
		if last != len(s.Borders) || !maps.Equal(found, groups) {
			t.Fatalf("seed %d: got %d groups in %d of %d shards, want %d", seed, len(found), last+1, len(s.Borders)+1, len(groups))
		}
	}
}

// runsOf moves runs of 400 groups to storage. Neighbouring groups are in different runs.
func runsOf(t *testing.T, ctx context.Context, functions []aggregate, count int) (runs []spilled) {
	t.Helper()
	for i := range count {
		tab := new(table)
		tab.bind(functions, []int{-1})
		for j := range 400 {
			tab.states[0].(*counts).list[tab.group(fmt.Appendf(nil, "%06d-%d", j, i))]++
		}
		pieces, err := spillRun(ctx, tab.encodeRun())
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, pieces)
	}
	return runs
}

// TestReadAhead merges more runs than a slot reads in advance.
func TestReadAhead(t *testing.T) {
	small(t, 0, 200, 1000)
	ctx := engine.WithSpills(t.Context(), &memorySpills{data: map[string][]byte{}})
	functions, err := parseAggregates("count")
	if err != nil {
		t.Fatal(err)
	}
	runs := runsOf(t, ctx, functions, 3*maxAhead)
	m, err := newMerging(ctx, functions, runs, nil)
	if err != nil {
		t.Fatal(err)
	}
	groups, most := 0, 0
	for ok := true; ok; groups++ {
		if ok, err = m.next(ctx, nil); err != nil {
			t.Fatal(err)
		}
		most = max(most, m.ahead.pieces)
	}
	m.ahead.reading.Wait()
	if want := len(runs)*400 + 1; groups != want || most != maxAhead || m.ahead.pieces != 0 {
		t.Errorf("got %d calls, at most %d pieces in advance, and %d at the end, want %d, %d and 0", groups, most, m.ahead.pieces, want, maxAhead)
	}
}

// TestReadAheadCancelled cancels the call that reads a piece in advance. The next call reads the piece again.
func TestReadAheadCancelled(t *testing.T) {
	small(t, 0, 200, 1000)
	spills := &stoppedSpills{memorySpills: memorySpills{data: map[string][]byte{}}}
	all := engine.WithSpills(t.Context(), spills)
	functions, err := parseAggregates("count")
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMerging(all, functions, runsOf(t, all, functions, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	spills.stopped = true
	ctx, cancel := context.WithCancel(all)
	groups := 0
	for ; m.ahead.pieces == 0; groups++ {
		if ok, err := m.next(ctx, nil); err != nil || !ok {
			t.Fatalf("got %v, %v after %d groups, want a read in advance", ok, err, groups)
		}
	}
	cancel()
	m.ahead.reading.Wait()
	spills.stopped = false
	for ok := true; ok; groups++ {
		if ok, err = m.next(all, nil); err != nil {
			t.Fatal(err)
		}
	}
	if groups != 401 {
		t.Errorf("got %d calls, want 401", groups)
	}
}

// stoppedSpills reads nothing while stopped is true.
type stoppedSpills struct {
	memorySpills
	stopped bool
}

func (s *stoppedSpills) Spill(ctx context.Context, name string) ([]byte, error) {
	if s.stopped {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.memorySpills.Spill(ctx, name)
}

// memorySpills keeps data in memory.
type memorySpills struct {
	mu   sync.Mutex
	data map[string][]byte
}

func (m *memorySpills) PutSpill(_ context.Context, data []byte) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := jobs.File(data).SHA256()
	m.data[name] = bytes.Clone(data)
	return name, nil
}

func (m *memorySpills) Spill(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.data[name]), nil
}
