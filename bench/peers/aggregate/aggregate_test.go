package aggregate

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fake(name, language string, times *[]timed) System {
	return System{
		Name: name, Language: language,
		Versions: func(context.Context, *place) (string, error) { return name + " 1.0", nil },
		Run: func(context.Context, *place, Shape) (timed, error) {
			t := (*times)[0]
			*times = (*times)[1:]
			return t, nil
		},
	}
}

func TestTables(t *testing.T) {
	own, other := []timed{{2, 1, 1.5}, {4, 1, 1.5}, {6, 2, 1.5}}, []timed{{4, 4, 0}, {2, 1, 0}, {3, 1, 0}}
	r, err := Run(t.Context(), Config{
		Setup:   report.Setup{Dir: t.TempDir(), Rounds: 3, Progress: func(string, ...any) {}},
		Systems: []System{fake(Bellwether, "Go", &own), fake("Other", "C", &other)},
		Workers: 4, Sizes: []uint64{8e6}, Total: 8e9, Least: 64,
	})
	if err != nil {
		t.Fatal(err)
	}
	tables := r.Tables()
	var text strings.Builder
	for _, table := range tables {
		if err := table.Text(&text); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"sum of 1,000 × 8.0 MB",
		"Bellwether, vectors   4        Go    1                    3      1\n",
		"its run, one process  1.5      Go    1                    1.5    0.375\n",
		"Other                 3        C     1                    2      0.5\n",
		"Other 1.0",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}

func TestFailuresNameSystemAndShape(t *testing.T) {
	failing := fake("Failing", "C", nil)
	failing.Run = func(context.Context, *place, Shape) (timed, error) { return timed{}, errors.New("out of order") }
	_, err := Run(t.Context(), Config{Setup: report.Setup{Dir: t.TempDir(), Rounds: 1}, Systems: []System{failing}, Workers: 1, Sizes: []uint64{8}, Total: 80})
	if err == nil || !strings.Contains(err.Error(), "Failing, 10 × 8 B: out of order") {
		t.Errorf("got %v", err)
	}
	if err := (answer{First: 1, Last: 2}).check(Shape{8, 2}); err == nil || !strings.Contains(err.Error(), "want 31 and 31") {
		t.Errorf("got %v", err)
	}
}

// TestPrograms runs the programs of other systems that are installed.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs other systems")
	}
	p := &place{dir: t.TempDir(), workers: 2, cores: 2}
	shape := Shape{800, 101}
	for _, s := range Systems()[1:] {
		t.Run(s.Name, func(t *testing.T) {
			if _, err := exec.LookPath("mpicc"); s.Name == openMPI && err != nil {
				t.Skip("Open MPI is not installed")
			}
			if s.Name != openMPI && exec.Command(processes.Python, "-c", "import distributed, redis").Run() != nil {
				t.Skip("Dask and redis-py are not installed")
			}
			if version, err := s.Versions(t.Context(), p); err != nil || version == "" {
				t.Errorf("version %q, %v", version, err)
			}
			got, err := s.Run(t.Context(), p, shape)
			if err != nil || got.System <= 0 || got.Loop <= 0 {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	if left, _ := filepath.Glob(p.dir + "/redis-*"); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}
