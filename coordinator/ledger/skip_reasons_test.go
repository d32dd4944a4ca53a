package ledger

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

func TestSkipReasons(t *testing.T) {
	var r skipReasons
	long := "first line\n" + strings.Repeat("é", 2000) + "\nlast line"
	r.add(7, long)
	r.add(3, "bad")
	r.add(7, "another reason of the same partition")
	list := r.sorted()
	if len(list) != 2 || list[0].Partition != 3 || list[0].Text != "bad" || !strings.HasPrefix(list[1].Text, "first line\n") ||
		!strings.HasSuffix(list[1].Text, "\nlast line") || len(list[1].Text) > maxReason {
		t.Errorf("got %.2000q", fmt.Sprint(list))
	}
	for i := range uint64(10_000) {
		r.add(100+i, long)
	}
	if size := len(fmt.Sprint(r.sorted())); r.bytes > maxReasons || size > 2*maxReasons || r.list.len < maxReasons/maxReason/2 {
		t.Errorf("%d reasons have %d bytes, and by their own count %d", r.list.len, size, r.bytes)
	}
	r.remove(engine.Span{Lo: 4, Hi: 20_000})
	if list := r.sorted(); len(list) != 1 || r.bytes != 3+reasonOverhead {
		t.Errorf("after a removal the reasons are %v, with %d bytes", list, r.bytes)
	}
	r.add(8, "fits again")
	if r.list.len != 2 {
		t.Error("removed reasons take room")
	}
}
