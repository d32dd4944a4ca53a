//go:build linux

package exec

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMemoryOfFamily checks that the memory of processes counts that have left the process group, and
// that they are killed with the program.
func TestMemoryOfFamily(t *testing.T) {
	for name, script := range map[string]string{
		"child in a session of its own":            "setsid sh FILE & wait",
		"grandchild that knows nothing of the job": `setsid env -i --chdir=/ PATH=$PATH sh -c "sh FILE & wait" & wait`,
		"daemon": "(setsid sh FILE &); sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "use.sh")
			if err := os.WriteFile(file, []byte("echo $$ > $0.pid; x=$(yes | head -c 200000000); sleep 1000\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := run(t, shell(strings.ReplaceAll(script, "FILE", file), "memory=50MB", "timeout=1m"))
			if err == nil || !strings.Contains(err.Error(), "of memory, and may use 48 MiB") && !strings.Contains(err.Error(), "used more than 48 MiB of memory") {
				t.Errorf("%v, want an error of the memory", err)
			}
			pid, err := os.ReadFile(file + ".pid")
			if err != nil {
				t.Fatal(err)
			}
			awaitDeath(t, strings.TrimSpace(string(pid)))
		})
	}
}

// TestKillOfFamily kills a family while its processes start processes as fast as they can.
func TestKillOfFamily(t *testing.T) {
	dir := t.TempDir()
	script := fmt.Sprintf(`cd %s; for i in 1 2 3 4; do setsid env -i PATH=$PATH sh -c 'while :; do sh -c ":" & touch $$; wait; done' & done; wait`, dir)
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ended, err := startProgram(cmd)
	if err != nil {
		t.Fatal(err)
	}
	f := newFamily(cmd.Process.Pid, filepath.Join(dir, "unused"))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) == 4 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the processes have not started")
		}
	}
	f.kill()
	<-ended
	f.end()
	_ = cmd.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		awaitDeath(t, e.Name())
	}
}

// TestConfinement checks that a program cannot gain privileges, and inherits neither the open files of
// this process nor files that this process has inherited.
func TestConfinement(t *testing.T) {
	secret, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	inherited, err := syscall.Dup(int(secret.Fd())) // like an inherited file, the copy is not closed when a program is started
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	r, err := run(t, shell(fmt.Sprintf("grep NoNewPrivs /proc/self/status; [ -e /proc/$$/fd/%d ] && echo inherited; :", inherited)))
	if want := "NoNewPrivs:\t1\n"; err != nil || r.Text != want {
		t.Errorf("%q, %v; want %q", r.Text, err, want)
	}
}

// TestGuardHasNoEnvironment checks that programs cannot read the environment of this process from the
// guard process, which runs as the same user.
func TestGuardHasNoEnvironment(t *testing.T) {
	t.Setenv("SECRET", "1")
	guard := newTestGuard()
	defer guard.Close()
	if err := guard.use(); err != nil {
		t.Fatal(err)
	}
	guard.mu.RUnlock()
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", guard.cmd.Process.Pid))
	if err != nil || len(environment) > 0 {
		t.Errorf("the guard process has the environment %q, %v", environment, err)
	}
}
