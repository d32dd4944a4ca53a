package dataset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// TestRefuse lets a job refuse more than 10 records. A reading that is wrong may have more.
func TestRefuse(t *testing.T) {
	lines := strings.Repeat("x\n", 200)
	for name, test := range map[string]struct {
		text  string
		fails bool
	}{
		"200 records":                    {"a\n" + lines, true},
		"a record with 200 lines":        {"a\n\"" + lines + "\"\n", false},
		"200 records after such a field": {"a\n\"" + lines + "\"\n" + lines, true},
	} {
		for seed := range uint64(20) {
			j, finished := collect, false
			j.Refuse = func(_ Input, acc []string) error {
				if len(acc) > 10 {
					return errors.New("too many")
				}
				return nil
			}
			finish := j.Finish
			j.Finish = func(ctx context.Context, in Input, acc []string, totals Totals) ([]string, error) {
				finished = true
				return finish(ctx, in, acc, totals)
			}
			from := new(memory.Driver)
			from.Put("mem://a.csv", []byte(test.text))
			in := Defaults()
			in.Source, in.Block = "mem://a.csv", 20
			_, err := merged(t, j, from, in, rand.New(rand.NewPCG(seed, 1)))
			if got := fmt.Sprint(err); test.fails && (finished || got != "too many" || !jobs.IsPermanent(err)) || !test.fails && err != nil {
				t.Errorf("%s, seed %d: got %v, finished: %v; want a refusal: %v", name, seed, err, finished, test.fails)
			}
		}
	}
}
