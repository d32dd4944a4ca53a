package executor

import (
	"context"
	"strconv"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestSizes(t *testing.T) {
	kind := wire.JobKind{Name: "a", Version: "1"}
	work := func(n int) workID { return newWorkID(kind, jobs.Params(strconv.Itoa(n))) }
	var s sizes
	s.put(work(0), 5)
	s.put(work(1), 6)
	s.put(work(0), 7)
	for work, want := range map[workID]int64{
		work(0): 7,
		work(1): 6,
		work(2): 0,
		newWorkID(wire.JobKind{Name: "a", Version: "2"}, jobs.Params("0")): 0,
	} {
		if got := s.get(work); got != want {
			t.Errorf("size %d, want %d", got, want)
		}
	}
	for n := range maxSizes {
		s.put(work(100+n), 1)
	}
	if s.get(work(0)) != 0 || s.get(work(100)) != 1 || len(s.list) != maxSizes {
		t.Errorf("%d sizes are kept, want the last %d", len(s.list), maxSizes)
	}
}

// blockFiller maps every partition to a large partial, and records the size of each spare value.
type blockFiller struct {
	blockMapper
	spares chan int
}

func (f blockFiller) Fill(ctx context.Context, partition uint64, spare []byte) ([]byte, error) {
	f.spares <- len(spare)
	return f.Map(ctx, partition)
}

// The first partition of a job uses the memory of an earlier job with the same parameters.
func TestFirstPartitionUsesSpareMemory(t *testing.T) {
	filler := blockFiller{spares: make(chan int, 3)}
	job := blocksOf(filler, nil)
	_, l := startHolder(t, job, noStore{t})
	l.order(func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "j", Ended: true}} })
	l.wait("the end of the job", func() bool { return len(l.last().Nodes) == 0 })
	l.assign("k", job, 0, 2, engine.Span{Lo: 0, Hi: 1})
	l.wait("a held node", func() bool { return len(l.last().Nodes) == 1 })
	if first, _, again := <-filler.spares, <-filler.spares, <-filler.spares; first != 0 || again != 1<<20 {
		t.Errorf("the first partitions of two jobs got spare values of %d and %d bytes, want 0 and %d", first, again, 1<<20)
	}
}
