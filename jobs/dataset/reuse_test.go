package dataset

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
	tree "github.com/bellwether-compute/bellwether/jobs/engine"
)

// addKeys computes all partitions of a job and merges neighbours along the tree. It adds the bytes of each node
// to all, by the node's key. A key with two different bytes is an error.
func addKeys(ctx context.Context, t rapid.TB, all map[tree.Key][]byte, from source.Driver, in Input) (added int) {
	d := defineOn(collect, from)
	plan, err := d.Plan(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Open(ctx, in, plan)
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		key   tree.Key
		value Partial[[]string]
	}
	add := func(n node) {
		data, err := encoding.Marshal(n.value)
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := all[n.key]; ok && !bytes.Equal(before, data) {
			t.Fatalf("two partials with one key:\n%x\n%x", before, data)
		} else if !ok {
			added++
		}
		all[n.key] = data
	}
	var level []node
	for i := range plan.Partitions {
		value, err := m.Map(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		if objects := m.(jobs.Inputs).Inputs(i); len(objects) == 0 || objects[0].Name == "" || objects[0].Version == "" {
			t.Fatalf("partition %d reads %+v", i, objects)
		}
		level = append(level, node{tree.NewKey(m.(jobs.Keyer).Key(ctx, i)), value})
		add(level[i])
	}
	for len(level) > 1 {
		var above []node
		for i := 0; i+1 < len(level); i += 2 {
			value, err := d.Merge(level[i].value, level[i+1].value)
			if err != nil {
				t.Fatal(err)
			}
			above = append(above, node{tree.KeyOf(level[i].key, level[i+1].key), value})
			add(above[len(above)-1])
		}
		if len(level)%2 == 1 {
			above = append(above, level[len(level)-1])
		}
		level = above
	}
	return added
}

// TestKeysOfAChange checks that a changed object changes the keys of its partitions and of their path only.
func TestKeysOfAChange(t *testing.T) {
	from, all := new(memory.Driver), map[tree.Key][]byte{}
	text := []byte("a\n1\n2\n3\n4\n")
	for i := range 64 {
		from.Put(fmt.Sprintf("mem://%02d0.csv", i), text)
	}
	in := Defaults()
	in.Source, in.Block = "mem://*", 5 // two partitions per object
	if added := addKeys(t.Context(), t, all, from, in); added != 255 {
		t.Errorf("%d keys, want 255 of 128 partitions", added)
	}
	if added := addKeys(t.Context(), t, all, from, in); added != 0 {
		t.Errorf("%d keys of the same dataset are new", added)
	}
	from.Put("mem://310.csv", text) // the driver gives it another tag
	if added := addKeys(t.Context(), t, all, from, in); added != 2+7 {
		t.Errorf("%d keys are new after a change, want two partitions and their path of 7", added)
	}
	from.Put("mem://999.csv", text)
	if added := addKeys(t.Context(), t, all, from, in); added != 2+1+1 {
		t.Errorf("%d keys are new after an object was appended, want two partitions, their node and the root", added)
	}
	in.OnError = "skip"
	if added := addKeys(t.Context(), t, all, from, in); added == 0 {
		t.Error("a parameter does not change the keys")
	}
}

// uncertain is a source whose objects may change without a trace.
type uncertain struct{ *memory.Driver }

func (uncertain) Identify(o source.Object, _ time.Time) (string, bool) {
	return "", !strings.Contains(o.Name, "young")
}

// TestUncertainObjectsHaveNoKey checks that a partition with an object that may change without a trace has no
// key, in datasets and in lines.
func TestUncertainObjectsHaveNoKey(t *testing.T) {
	from := uncertain{new(memory.Driver)}
	for _, name := range []string{"mem://a.csv", "mem://b-young.csv", "mem://c.csv"} {
		from.Put(name, []byte("a\n1\n2\n3\n4\n"))
	}
	in := Defaults()
	in.Source, in.Block = "mem://*", 10
	d := defineOn(collect, from)
	plan, err := d.Plan(t.Context(), in)
	if err != nil || plan.Partitions != 3 {
		t.Fatal(plan.Partitions, err)
	}
	m, err := d.Open(t.Context(), in, plan)
	if err != nil {
		t.Fatal(err)
	}
	linesPlan, err := planLines(t.Context(), in, Split{}, from)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := openLines(in, Split{}, linesPlan, from)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, true} {
		key := m.(jobs.Keyer).Key(t.Context(), uint64(i))
		if (key != nil) != want || (lines.Key(uint64(i)) != nil) != want {
			t.Errorf("partition %d: keys %x and %x, want some: %v", i, key, lines.Key(uint64(i)), want)
		}
	}
}
