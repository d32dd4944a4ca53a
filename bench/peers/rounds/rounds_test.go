package rounds

import (
	"context"
	"math"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTables(t *testing.T) {
	fake := func(name string, times ...timed) System {
		return System{
			Name: name, Language: "Go",
			Versions: func(context.Context, *place) (string, error) { return name + " 1.0", nil },
			Run: func(context.Context, *place, Shape) (timed, error) {
				now := times[0]
				times = times[1:]
				return now, nil
			},
		}
	}
	took := func(system, loop float64) timed { return timed{System: system, Loop: loop, Rounds: 7} }
	r, err := Run(t.Context(), Config{
		Setup:   report.Setup{Dir: t.TempDir(), Rounds: 3, Progress: func(string, ...any) {}},
		Systems: []System{fake(Bellwether, took(2, 1), took(4, 1), took(6, 2), took(1, 1), took(1, 1), took(1, 2)), fake("Other", took(4, 4), took(2, 1), took(3, 1), took(5, 1), took(5, 1), took(5, 1))},
		Workers: 4, Shapes: []Shape{{KMeans, 1e7, 16, 64, 20}, {KMeans, 0, 1, 1, 1}, {GLM, 1e6, 20, 0, 99}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, table := range r.Tables() {
		if err := table.Text(&text); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"k-means of 10,000,000 points × 16, k = 64, 20 rounds",
		"Bellwether, rounds  7       4        Go    1                    3      Bellwether, rounds 1.0\n",
		"Other               7       3        Go    1                    2      Other 1.0\n",
		"logistic regression of 1,000,000 rows × 20",
		"Bellwether, rounds  7       1        Go    1                    1      Bellwether, rounds 1.0\n",
		"Other               7       5        Go    1                    5      Other 1.0\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}

// TestLossesAreCompared checks that a system that computes other numbers than its loop, or runs more rounds, is found.
func TestLossesAreCompared(t *testing.T) {
	says := func(loss string) []string { return []string{"echo", `{"seconds":1,"rounds":3,"loss":` + loss + `}`} }
	if got, err := pair(t.Context(), says("2"), says("2.0000000001")); err != nil || got.Rounds != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
	more := []string{"echo", `{"seconds":1,"rounds":4,"loss":2}`}
	if _, err := pair(t.Context(), says("2"), more); err == nil || !strings.Contains(err.Error(), "after 4 rounds, the loop after 3") {
		t.Errorf("one round more: got error %v", err)
	}
	for _, other := range []string{"2.00001", "0"} {
		if _, err := pair(t.Context(), says("2"), says(other)); err == nil || !strings.Contains(err.Error(), "that of the loop is 2") {
			t.Errorf("loss %s: got error %v", other, err)
		}
	}
}

// TestPrograms runs the programs of other systems that are installed, with more processes than some have points for each cluster.
// The programs make the same rows, so they must end with the same losses.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs other systems")
	}
	p := &place{dir: t.TempDir(), workers: 3, cores: 2}
	ended := map[string]timed{} // the first system's measurement of each job
	for _, s := range Systems()[1:] {
		t.Run(s.Name, func(t *testing.T) {
			if _, err := exec.LookPath("mpicc"); s.Name == openMPI && err != nil {
				t.Skip("Open MPI is not installed")
			}
			if s.Name == dask && exec.Command(processes.Python, "-c", "import distributed").Run() != nil {
				t.Skip("Dask is not installed")
			}
			if version, err := s.Versions(t.Context(), p); err != nil || version == "" {
				t.Errorf("version %q, %v", version, err)
			}
			for _, shape := range []Shape{{KMeans, 5000, 3, 7, 4}, {GLM, 5000, 3, 0, 99}} {
				got, err := s.Run(t.Context(), p, shape)
				if err != nil || got.System <= 0 || got.Loop <= 0 {
					t.Errorf("%v: got %+v, %v", shape, got, err)
				}
				want, ok := ended[shape.Job]
				if !ok {
					ended[shape.Job] = got
				} else if got.Rounds != want.Rounds || !(math.Abs(got.loss-want.loss) <= 1e-9*want.loss) {
					t.Errorf("%v: got %+v, want the rounds and the loss of %+v", shape, got, want)
				}
			}
		})
	}
}
