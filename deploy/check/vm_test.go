package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	unitFile        = "../systemd/bellwether-worker.service"
	cloudConfigFile = "../cloud-init/worker.yaml"
)

// unitValue returns the only value of a directive in the unit.
func unitValue(t *testing.T, name string) string {
	t.Helper()
	matches := regexp.MustCompile(`(?m)^`+name+`=(.*)$`).FindAllStringSubmatch(read(t, unitFile), -1)
	if len(matches) != 1 {
		t.Fatalf("%s: got %v, want one value", name, matches)
	}
	return matches[0][1]
}

func TestUnit(t *testing.T) {
	start := strings.TrimSuffix(unitValue(t, "ExecStart"), " $WORKER_FLAGS")
	const installed = "/usr/local/bin/bellwether "
	args, ok := strings.CutPrefix(start, installed)
	if !ok {
		t.Fatalf("ExecStart is %s, want %s", start, installed)
	}
	checkCommand(t, strings.Fields(args))
	grace, err := time.ParseDuration(unitValue(t, "TimeoutStopSec"))
	if err != nil {
		t.Fatal(err)
	}
	checkGrace(t, strings.Fields(args), grace)
	if want := "%C/" + unitValue(t, "CacheDirectory"); !slices.Contains(strings.Fields(args), want) {
		t.Errorf("ExecStart has the flags %s, want --spill-dir %s", args, want)
	}
	if strings.Contains(read(t, unitFile), "\nKillSignal=") {
		t.Error("the unit sets KillSignal: a worker drains on SIGTERM, the default, only")
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd-analyze")
	}
	// unitValue checks that the program exists.
	file := filepath.Join(t.TempDir(), filepath.Base(unitFile))
	text := strings.ReplaceAll(read(t, unitFile), strings.TrimSpace(installed), program)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("verify: %v\n%s", err, out)
	}
	// systemd reports an exposure of 1.5 of 10, and calls up to 5 OK.
	if err := run("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=15", file); err != nil {
		t.Error(err)
	}
}

// TestCloudConfig decodes the cloud-config strictly, checks its files, and runs its installation
// script with a curl that copies a local file.
func TestCloudConfig(t *testing.T) {
	text := read(t, cloudConfigFile)
	if !strings.HasPrefix(text, "#cloud-config\n") {
		t.Error("the first line is not #cloud-config")
	}
	type file struct {
		Path        string `json:"path"`
		Permissions string `json:"permissions"`
		Content     string `json:"content"`
	}
	var config struct {
		WriteFiles []file     `json:"write_files"`
		RunCmd     [][]string `json:"runcmd"`
	}
	if err := yaml.UnmarshalStrict([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	written := map[string]file{}
	for _, f := range config.WriteFiles {
		written[f.Path] = f
	}
	if written["/etc/systemd/system/bellwether-worker.service"].Content != read(t, unitFile) {
		t.Error("the unit differs from deploy/systemd")
	}
	env := written[unitValue(t, "EnvironmentFile")]
	if env.Permissions != "0600" {
		t.Errorf("%s contains a password and has the permissions %s", env.Path, env.Permissions)
	}
	var names []string
	for line := range strings.Lines(env.Content) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name == "WORKER_FLAGS" {
			checkCommand(t, append([]string{"worker"}, strings.Fields(value)...))
		} else {
			names = append(names, name)
		}
	}
	checkVariables(t, names)
	if last := config.RunCmd[len(config.RunCmd)-1]; !slices.Contains(last, "bellwether-worker") {
		t.Errorf("the last command is %v, want the start of the unit", last)
	}
	if _, err := exec.LookPath("cloud-init"); err == nil {
		if err := run("cloud-init", "schema", "--config-file", cloudConfigFile); err != nil {
			t.Error(err)
		}
	}

	// The commands run as one script, as in cloud-init, with a curl that copies a local file and a
	// systemctl that records its call.
	dir := t.TempDir()
	for name, text := range map[string]string{
		"install":   strings.ReplaceAll(written[config.RunCmd[1][0]].Content, "/usr/local/bin", dir),
		"curl":      "#!/bin/sh\necho >>" + dir + "/curls\n[ -z \"$CURL_FAILS\" ] || exit $CURL_FAILS\nwhile [ $# -gt 2 ]; do [ \"$1\" = --output ] && target=$2; shift; done\ncp \"$2\" \"$target\"\n",
		"sleep":     "#!/bin/sh\n",
		"systemctl": "#!/bin/sh\necho >>" + dir + "/started\n",
		"program":   "the program",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	lines := func(name string) int { // 0 if the file does not exist
		data, _ := os.ReadFile(filepath.Join(dir, name))
		return strings.Count(string(data), "\n")
	}
	install := func(digest, curlFails string) error {
		t.Setenv("CURL_FAILS", curlFails)
		values := strings.NewReplacer(config.RunCmd[1][0], filepath.Join(dir, "install"),
			"PROGRAM_URL", filepath.Join(dir, "program"), "PROGRAM_SHA256", digest)
		var script strings.Builder
		for _, command := range config.RunCmd {
			script.WriteString("'" + values.Replace(strings.Join(command, "' '")) + "'\n")
		}
		return run("sh", "-c", script.String())
	}
	sum, err := exec.Command("sha256sum", filepath.Join(dir, "program")).Output()
	if err != nil {
		t.Fatal(err)
	}
	digest, installed := strings.Fields(string(sum))[0], filepath.Join(dir, "bellwether")
	for _, wrong := range []struct {
		name, digest, curlFails string
		curls                   int
	}{
		{"a wrong digest", strings.Repeat("0", 64), "", 1},
		{"a URL that the server refuses", digest, "22", 1},
		{"no name service", digest, "6", 60},
	} {
		before := lines("curls")
		if err := install(wrong.digest, wrong.curlFails); err == nil {
			t.Errorf("%s: the commands succeed", wrong.name)
		}
		if got := lines("curls") - before; got != wrong.curls {
			t.Errorf("%s: curl runs %d times, want %d", wrong.name, got, wrong.curls)
		}
		if left, _ := filepath.Glob(installed + "*"); len(left) > 0 || lines("started") > 0 {
			t.Errorf("%s: left behind %v, systemctl runs %d times", wrong.name, left, lines("started"))
		}
	}
	if err := install(digest, ""); err != nil {
		t.Fatal(err)
	}
	if got := read(t, installed); got != "the program" || lines("started") == 0 {
		t.Errorf("installed %q, systemctl runs %d times", got, lines("started"))
	}
	if left, _ := filepath.Glob(installed + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
