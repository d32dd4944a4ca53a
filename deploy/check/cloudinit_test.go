package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const cloudConfigFile = "../cloud-init/worker.yaml"

// cloudConfig is cloud-init's, as far as the worker's uses it. Other keys are refused.
type cloudConfig struct {
	WriteFiles []writtenFile `json:"write_files"`
	RunCmd     [][]string    `json:"runcmd"`
}

type writtenFile struct {
	Path        string `json:"path"`
	Permissions string `json:"permissions"`
	Content     string `json:"content"`
}

func readCloudConfig(t *testing.T) cloudConfig {
	t.Helper()
	text := read(t, cloudConfigFile)
	if !strings.HasPrefix(text, "#cloud-config\n") {
		t.Error("cloud-init does not take it for its own: the first line is not #cloud-config")
	}
	var config cloudConfig
	if err := yaml.UnmarshalStrict([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	return config
}

func (c cloudConfig) file(t *testing.T, path string) writtenFile {
	t.Helper()
	i := slices.IndexFunc(c.WriteFiles, func(f writtenFile) bool { return f.Path == path })
	if i < 0 {
		t.Fatalf("%s is not written", path)
	}
	return c.WriteFiles[i]
}

func TestCloudConfig(t *testing.T) {
	config := readCloudConfig(t)
	if got := config.file(t, "/etc/systemd/system/"+filepath.Base(unitFile)).Content; got != read(t, unitFile) {
		t.Error("the unit is not the one in deploy/systemd")
	}
	env := config.file(t, unitValue(t, "Service", "EnvironmentFile"))
	if env.Permissions != "0600" {
		t.Errorf("others can read %s, which has a password", env.Path)
	}
	var names []string
	for line := range strings.Lines(env.Content) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name == "WORKER_FLAGS" {
			checkCommand(t, append([]string{"worker"}, strings.Fields(value)...))
			continue
		}
		names = append(names, name)
	}
	checkVariables(t, names)
	if start := config.RunCmd[len(config.RunCmd)-1]; !slices.Contains(start, strings.TrimSuffix(filepath.Base(unitFile), ".service")) {
		t.Errorf("the last command is %v, want the unit's start", start)
	}
}

// TestCloudConfigInstalls runs the installing script with a curl that fetches a file
// of this machine.
func TestCloudConfigInstalls(t *testing.T) {
	config := readCloudConfig(t)
	dir := t.TempDir()
	command := config.RunCmd[0]
	script := strings.ReplaceAll(config.file(t, command[0]).Content, "/usr/local/bin", dir)
	files := map[string]string{
		"install": script,
		"curl":    "#!/bin/sh\nwhile [ $# -gt 2 ]; do [ \"$1\" = --output ] && target=$2; shift; done\ncp \"$2\" \"$target\"\n",
		"program": "what is to be installed",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	install := func(digest string) error {
		cmd := exec.Command(filepath.Join(dir, "install"), filepath.Join(dir, "program"), digest)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		return err
	}
	if err := install(strings.Repeat("0", 64)); err == nil {
		t.Error("a program of another digest is taken")
	}
	if _, err := os.Stat(filepath.Join(dir, "bellwether")); err == nil {
		t.Error("a program of another digest is installed")
	}
	sum, err := exec.Command("sha256sum", filepath.Join(dir, "program")).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := install(strings.Fields(string(sum))[0]); err != nil {
		t.Error(err)
	}
	if got := read(t, filepath.Join(dir, "bellwether")); got != files["program"] {
		t.Errorf("installed: got %q", got)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "bellwether.*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestCloudConfigByItsSchema asks cloud-init itself, where it is installed.
func TestCloudConfigByItsSchema(t *testing.T) {
	if _, err := exec.LookPath("cloud-init"); err != nil {
		t.Skip("there is no cloud-init")
	}
	if err := run("cloud-init", "schema", "--config-file", cloudConfigFile); err != nil {
		t.Error(err)
	}
}
