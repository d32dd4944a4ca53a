package exec

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

// estimatesOf runs a job of five calls, and returns its estimates.
func estimatesOf(t *testing.T, pairs ...string) (list []string, err error) {
	t.Helper()
	return estimatesWith(t, nil, pairs...)
}

func estimatesWith(t *testing.T, files jobs.Files, pairs ...string) (list []string, err error) {
	t.Helper()
	job := jobs.MustNew(Define(nil))
	params, err := job.Params(nil, append([]string{"partitions=5", "estimate=true"}, pairs...)...)
	if err != nil {
		t.Fatal(err)
	}
	local := jobs.Local{Grant: granted, Slots: 2, Attempts: 1, Estimated: func(e jobs.Estimated) {
		list = append(list, fmt.Sprintf("%d: %s", e.Partitions, e.Value))
	}}
	_, err = local.Run(jobs.WithFiles(t.Context(), files), job, params)
	return list, err
}

// TestEstimates checks what the program gets in the phase estimate: the number of partitions, and their outputs,
// merged as if the job had no others.
func TestEstimates(t *testing.T) {
	const script = `case $BELLWETHER_PHASE in
map) printf "$BELLWETHER_PARTITION";;
merge) printf '(%s %s)' "$(cat "$1")" "$(cat "$2")";;
estimate) printf '[%s, "%s"]\n' "$BELLWETHER_PREFIX" "$(cat "$1")";;
esac`
	command := `command=["sh","-c",` + fmt.Sprintf("%q", script) + `,"sh"]`
	for merge, want := range map[string][]string{
		"program": {`1: [1,"0"]`, `2: [2,"(0 1)"]`, `3: [3,"((0 1) 2)"]`, `4: [4,"((0 1) (2 3))"]`},
		"concat":  {`1: [1,"0"]`, `2: [2,"01"]`, `3: [3,"012"]`, `4: [4,"0123"]`},
		"sum":     {`1: [1,"0"]`, `2: [2,"1"]`, `3: [3,"3"]`, `4: [4,"6"]`},
		"hll":     {`1: [1,"1"]`, `2: [2,"2"]`, `3: [3,"3"]`, `4: [4,"4"]`},
	} {
		if got, err := estimatesOf(t, command, "merge="+merge); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v; want %q", merge, got, err, want)
		}
	}
}

func TestEstimatesThatFail(t *testing.T) {
	for script, want := range map[string]string{
		"echo NaN":                 `Estimate of the first 1 partitions of job exec: estimate: the program wrote "NaN\n": want JSON, or nothing if there is no estimate yet`,
		"echo no disk >&2; exit 3": "estimate: sh: exit status 3: no disk",
		`printf '"%2000s"' x`:      "the JSON of the estimate has 2002 bytes: want at most 1024",
	} {
		if _, err := estimatesOf(t, shell("[ $BELLWETHER_PHASE = map ] || { "+script+"; }")...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
	got, err := estimatesOf(t, shell(`[ $BELLWETHER_PREFIX != 3 ] || echo 0.5`)...)
	if want := []string{"1: null", "2: null", "3: 0.5", "4: null"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// TestKeptEstimate runs the phase estimate in kept processes, beside the calls of the phase map.
func TestKeptEstimate(t *testing.T) {
	need(t, "python3")
	program := []byte(`import bellwether
bellwether.serve(lambda data, partition, partitions: b"%d" % partition,
                 estimate=lambda data, prefix: b'["%s", %d]' % (data, prefix))
`)
	module, err := os.ReadFile(filepath.Join("examples", "bellwether.py"))
	if err != nil {
		t.Fatal(err)
	}
	files := jobs.Files{jobs.File(module), jobs.File(program)}
	list := fmt.Sprintf(`files=[{"name":"bellwether.py","sha256":%q,"size":%d},{"name":"p.py","sha256":%q,"size":%d}]`,
		files[0].SHA256(), len(module), files[1].SHA256(), len(program))
	got, err := estimatesWith(t, files, `command=["python3","p.py"]`, "keep=true", list)
	if want := []string{`1: ["0",1]`, `2: ["01",2]`, `3: ["012",3]`, `4: ["0123",4]`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}
