package cli_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// startDev runs 'bellwether dev' until the end of a script, or until the command stopdev:
//
//	dev WORKERS [FLAG…]
//
// The command dev sets BELLWETHER_NATS_URL.
func startDev(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: dev WORKERS [FLAG…]")
	}
	program, err := exec.LookPath("bellwether") // testscript.Main has installed the program
	ts.Check(err)
	flags := []string{"dev", "--port", "0", "--data", ts.MkAbs("data"), "-o", "json", "--log-level", "warn", "--workers"}
	cmd := exec.Command(program, append(flags, args...)...)
	cmd.Env = []string{"HOME=" + ts.Getenv("WORK"), "PATH=" + ts.Getenv("PATH"), "BELLWETHER_CLUSTER=" + ts.Getenv("BELLWETHER_CLUSTER"), "GORACE=" + os.Getenv("GORACE")}
	var log strings.Builder
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())

	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	var greeting struct {
		NATS string `json:"nats"`
	}
	if err == nil {
		err = json.Unmarshal(line, &greeting)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		ts.Fatalf("dev did not start: %v\n%s%s", err, line, log.String())
	}
	ts.Setenv("BELLWETHER_NATS_URL", greeting.NATS)

	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		_ = cmd.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		ts.Logf("[dev]\n%s", log.String())
		ts.Check(err)
	}
	ts.Defer(stop)
	ts.SetCmd("stopdev", func(*testscript.TestScript, bool, []string) { stop() })
}

// keepLine sets an environment variable to the output of the last command:
//
//	keep NAME
func keepLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keep NAME")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}
