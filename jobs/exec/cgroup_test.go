//go:build linux

package exec

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMemoryOfControlGroup limits the memory of a call with a control group.
func TestMemoryOfControlGroup(t *testing.T) {
	if delegated() == "" {
		t.Skipf("the parent of this process's control group (%q) is not delegated, or does not limit memory", ownCgroup())
	}
	_, err := run(t, shell("x=$(yes | head -c 200000000); sleep 60", "memory=50MB"))
	if want := "its processes used more than 48 MiB of memory"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	if left, err := filepath.Glob(filepath.Join(delegated(), "bellwether-*")); err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}

// TestControlGroup starts a process in a control group, and ends it together with a process that has
// left its process group.
func TestControlGroup(t *testing.T) {
	dir, err := os.MkdirTemp(ownCgroup(), "exec-test-")
	if ownCgroup() == "" || err != nil {
		t.Skipf("no control group can be made in %q: %v", ownCgroup(), err)
	}
	defer os.Remove(dir)
	g := &cgroup{dir: filepath.Join(dir, "call")}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if g.file, err = os.Open(g.dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "setsid env -i --chdir=/ sleep 1000 & cat /proc/self/cgroup; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	g.contain(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make([]byte, 4096)
	for text := ""; !strings.Contains(text, filepath.Base(dir)+"/call\n"); {
		n, err := out.Read(read)
		if text += string(read[:n]); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	g.close()
	if err := cmd.Wait(); err == nil {
		t.Error("the process has ended without an error")
	}
	if left, err := os.ReadDir(g.dir); err == nil {
		t.Errorf("the group is left with %d files", len(left))
	}
}

func TestControlGroupIsSetUp(t *testing.T) {
	dir := t.TempDir() // not a control group, so its files must be made
	g, err := newCgroup(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer g.file.Close()
	for name, want := range map[string]string{"memory.max": "1048576", "memory.oom.group": "1"} {
		if got, err := os.ReadFile(filepath.Join(g.dir, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
	for events, want := range map[string]bool{"": false, "low 0\noom 1\noom_kill 0\n": false, "oom 1\noom_kill 2\noom_group_kill 1\n": true} {
		if err := os.WriteFile(filepath.Join(g.dir, "memory.events"), []byte(events), 0o600); err != nil {
			t.Fatal(err)
		}
		if g.exceeded() != want {
			t.Errorf("%q: want %t", events, want)
		}
	}
}
