package portable_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/glm"
	"github.com/bellwether-compute/bellwether/jobs/kmeans"
	"github.com/bellwether-compute/bellwether/jobs/montecarlo"
	"github.com/bellwether-compute/bellwether/jobs/primes"
	"github.com/bellwether-compute/bellwether/jobs/probe"
	"github.com/bellwether-compute/bellwether/jobs/scan"
)

// known is a job with parameters, separated by line ends, and the SHA-256 of its result on every processor.
type known struct{ name, job, params, sha256 string }

// results are runs of the built-in jobs that compute something themselves. Jobs that read records cannot run as a module,
// because the SDK of Azure Storage does not compile for WebAssembly.
var results = []known{
	{"primes", "primes", "limit=3000000\nwidth=70000", "1f85651885e889ef9c685b29fc732e3fea51d42f4447a88ebb91ad33dbddaaed"},
	{"probe", "probe", "partitions=1000\npartial-size=3000", "15b9268f8d499f083ee46ab5e018fd06b764c5374d5a20d04a32f730b61522ba"},
	{"asian option", "montecarlo", "option=asian\nside=put\npaths=4000\nbatch=300\nsteps=50\ndividend=0.03", "45ff539b20f5157ba4fc625f9741816b8e05a0ce68b7a32b699297ac4a2e23bd"},
	{"barrier option", "montecarlo", "option=barrier\nbarrier-kind=down-and-in\nbarrier=90\npaths=2000\nbatch=300\nsteps=99\nvolatility=0.4", "28e5903414703b696393b273ee77be276465e5004843c4bbc9fa8f3d17851483"},
	{"stopped by error", "montecarlo", "paths=100000000\nbatch=1000\nerror=0.1", "a8fa3be8072627a9f0a440b0dc8a377006d0b256e96d0150644e1cd36d08c6dc"},
	{"sums", "scan", "input=rows.csv\nby=key\naggregate=count,count(z),sum(x),sum(z),min(x),max(z),mean(x),mean(z),var(x),var(z),stddev(x),stddev(z)", "912587736958e5b370eca67b176376e6964aa8c853c7a4f12a9ee35b1dd50f90"},
	{"top", "scan", "input=rows.csv\nby=hit\naggregate=top(key,7),top(n,20)", "b118964da89761ed83c6b669fb111bb65a90465b811b84873ab1622a6c6f63d2"},
	{"quantiles", "scan", "input=rows.csv\nby=hit\naggregate=p1(x),median(x),p99.9(x),p5(z),median(z),p95(z),median(n)", "17f933cdbba5ddeccdeddfa6e0ff851b03fbc8a3664ab0c4350f3b41c7f42405"},
	{"distinct", "scan", "input=rows.csv\nby=hit\naggregate=distinct(x),distinct(z),distinct(key),exact_distinct(x),exact_distinct(z)", "d91ab147e6124153ae9108285ea86142389fa6d88372d8a4b75d07ae738f6595"},
	{"expressions", "scan", "input=rows.csv\nlet=a = x * y + z; b = x / y; c = b * x + z; d = -b * b + c; e = round(c * 100) / 7 - b * y; f = a * b - c * d\n" +
		"where=b * x + z > 0.25\nby=key\naggregate=sum(a),mean(b),sum(c),var(d),mean(e),max(f),stddev(f)\norder=-sum(c)", "51e9d5a1e2aaf6084d7632157be2e6c64067541a9231b94a9ef650b89a679caf"},
	{"powers", "scan", "input=rows.csv\nlet=a = y ** 0.3; b = x ** 3; c = 1.1 ** x\nby=key\naggregate=sum(a),sum(b),sum(c)", "d636ae28e59d20b774cc0e8a7283d1f8ee9531d9d71e5f3b85652ffc3390452d"},
	{"rows", "scan", "input=rows.csv\nlet=t = date_trunc('week', time); d = date_diff('hour', t, time) / 7 + x * y\nwhere=hit == 1\ncolumns=t,d,key\norder=d\nlimit=500\noffset=20", "874c329d1ee9bc3ee3dff83f395936327a84018dea2be58fd1b516ccdc51fc45"},
	{"Parquet", "scan", "input=rows.parquet\nby=key\naggregate=count,sum(x),mean(x),var(x),min(x),max(x),median(x),distinct(x)", "6980091e38494cee80c5b5e16c7fefcc50e1c530ed1355b5b3599d414653ae91"},
	{"floats of Parquet", "scan", "input=rows.parquet\nlet=a = x * y + z; b = x / y - z * z\nby=key\naggregate=sum(a),var(b),p90(b)", "06c6cd806f1b7decc7025c347859ffae6b2330a80d08c4af9d5e4317ee86218f"},
	{"linear regression", "glm", "input=rows.csv\nfamily=linear\ntarget=z\ncolumns=x,y,n", "843a6479b08d921116251c51733a704af79fa874fcbfb538a09606e0daa46cf4"},
	{"logistic regression", "glm", "input=rows.csv\nfamily=logistic\ntarget=hit\ncolumns=x,y,z\nridge=0.5", "8b9d550e4debbc2df29c6e3a03b99e89e2117412819d76e5e5bc88c07aa56ea6"},
	{"Poisson regression", "glm", "input=rows.csv\nfamily=poisson\ntarget=n\ncolumns=x,y,hit", "cf51c6af1449b44f3488396930300709f2715077a9bdd32cef5587dfbbb2cd12"},
	{"clusters", "kmeans", "input=rows.csv\nk=7\ncolumns=x,y,z\nseed=3", "d2a39381fc646e2ca39ac575961e193cd091cbc5cedeb61300909ef9bd723aba"},
}

var (
	natively = []jobs.Job{
		jobs.MustNew(montecarlo.Definition), jobs.MustNew(primes.Definition), jobs.MustNew(probe.Definition),
		jobs.MustNew(scan.Definition), jobs.MustNewRounds(glm.Definition), jobs.MustNewRounds(kmeans.Definition),
	}
	asModule = map[string]bool{"montecarlo": true, "primes": true, "probe": true}
)

// TestSameBytes runs jobs on this processor and, if they can run there, in a WebAssembly module. The table has one SHA-256
// for both, and for all processors: 'make test-arm64' runs the test on an emulated arm64, whose compiler fuses
// multiplication and addition.
func TestSameBytes(t *testing.T) {
	list := append(results, inReadme(t))
	module := compiled(t)
	t.Chdir(t.TempDir())
	writeRows(t)
	for _, k := range list {
		check := func(how string, result []byte) {
			if sum := sha256.Sum256(result); hex.EncodeToString(sum[:]) != k.sha256 {
				t.Errorf("%s, %s: SHA-256 %x, want %s, of %.2000s", k.name, how, sum, k.sha256, result)
			}
		}
		check("native", native(t, k))
		if asModule[k.job] {
			check("WebAssembly", module(k))
		}
	}
}

// command finds the README's command that anybody can reproduce, and the SHA-256 below it.
var command = regexp.MustCompile(`(?m)^ +bellwether run montecarlo((?: -p [a-z]+=\S+)*)\n(?:.*\n)*? +sha256 +([0-9a-f]{64})$`)

func inReadme(t *testing.T) known {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := command.FindSubmatch(readme)
	if found == nil {
		t.Fatal("the README has no command 'bellwether run montecarlo' with a SHA-256 below it")
	}
	return known{"README", "montecarlo", strings.Join(strings.Fields(strings.ReplaceAll(string(found[1]), " -p ", " ")), "\n"), string(found[2])}
}

func native(t *testing.T, k known) []byte {
	for _, job := range natively {
		if job.Name() != k.job {
			continue
		}
		params, err := job.Params(nil, strings.Split(k.params, "\n")...)
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		done, err := jobs.Local{Grant: jobs.Grant{Files: []string{"/"}}}.Run(t.Context(), job, params)
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		return done.Result
	}
	t.Fatalf("no job %s", k.job)
	return nil
}

// compiled compiles the module, and returns a function that runs it and returns what it has written.
func compiled(t *testing.T) func(known) []byte {
	file := filepath.Join(t.TempDir(), "module.wasm")
	build := exec.Command("go", "build", "-o", file, "./testdata/module")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("compile the module: %v\n%s", err, out)
	}
	binary, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	t.Cleanup(func() { runtime.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, runtime)
	module, err := runtime.CompileModule(ctx, binary)
	if err != nil {
		t.Fatal(err)
	}
	return func(k known) []byte {
		var result, log bytes.Buffer
		config := wazero.NewModuleConfig().WithName("").WithArgs(append([]string{"module", k.job}, strings.Split(k.params, "\n")...)...).
			WithStdout(&result).WithStderr(&log)
		if _, err := runtime.InstantiateModule(ctx, module, config); err != nil {
			t.Fatalf("%s as a module: %v\n%s", k.name, err, &log)
		}
		return result.Bytes()
	}
}

// writeRows writes rows.csv and rows.parquet, with the same rows of pseudorandom numbers.
func writeRows(t *testing.T) {
	type row struct {
		Key  string  `parquet:"key,dict"`
		X    float64 `parquet:"x"`
		Y    float64 `parquet:"y"`
		Z    float64 `parquet:"z"`
		N    int64   `parquet:"n"`
		Hit  bool    `parquet:"hit"`
		Time string  `parquet:"time"`
	}
	// rand.NormFloat64 has other bits where multiplication and addition are fused.
	random := rand.New(rand.NewPCG(1, 2))
	text := new(strings.Builder)
	text.WriteString("key,x,y,z,n,hit,time\n")
	rows := make([]row, 12_000)
	for i := range rows {
		r := row{
			Key: fmt.Sprintf("k%d", random.IntN(random.IntN(60)+1)), X: float64(random.Int64N(2e9)-1e9) / 1e8,
			Y: random.Float64() + 0.125, Z: float64(random.Int64N(2e9)+random.Int64N(2e9)-2e9) / 7e8, N: random.Int64N(4),
			Time: fmt.Sprintf("2026-%02d-%02d %02d:30:00", random.IntN(12)+1, random.IntN(28)+1, random.IntN(24)),
		}
		r.Hit = r.X > 3 || random.IntN(3) == 0
		rows[i] = r
		hit := 0
		if r.Hit {
			hit = 1
		}
		fmt.Fprintf(text, "%s,%v,%v,%v,%d,%d,%s\n", r.Key, r.X, r.Y, r.Z, r.N, hit, r.Time)
	}
	if err := os.WriteFile("rows.csv", []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := parquet.WriteFile("rows.parquet", rows); err != nil {
		t.Fatal(err)
	}
}
