package exec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/exec/account"
)

func TestAllowedPrograms(t *testing.T) {
	some := jobs.Grant{Programs: []string{"sh", "./count"}}
	if r, err := runWith(t, some, shell("echo ran")); err != nil || r.Text != "ran\n" {
		t.Errorf("%q, %v", r.Text, err)
	}
	for want, grant := range map[string]jobs.Grant{
		`program "/bin/sh": this worker runs only sh, ./count (--exec-programs)`:                       some,
		`program "/bin/sh": this worker runs no program of a job: in Go, set Grant.Programs of worker`: {},
	} {
		if _, err := runWith(t, grant, []string{`command=["/bin/sh"]`}); err == nil || !jobs.IsPermanent(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want the permanent error %s", err, want)
		}
	}
}

func TestUser(t *testing.T) {
	for value, valid := range map[string]bool{"": true, "no-such-user": false, "4000000000": false, "1:": false, ":1": false, "-1:1": false, "1:1:1": false} {
		if err := account.Check(value); (err == nil) != valid {
			t.Errorf("%q: %v", value, err)
		}
	}
	if os.Geteuid() != 0 {
		if err := account.Check("0"); err == nil || !strings.Contains(err.Error(), "want a worker that runs as root") {
			t.Error(err)
		}
		t.Skip("only root can run a program as another user")
	}
	granted := granted
	granted.User = "4000000000:4000000001"
	defer syscall.Umask(syscall.Umask(0o077)) // must not change the modes of files for the user
	// Another user cannot reach the folders of t.TempDir.
	guard := newTestGuard()
	defer func() {
		if err := guard.Close(); err != nil {
			t.Error(err)
		}
	}()
	script := jobs.File("#!/bin/sh\nid -u; id -g; id -G; [ $HOME = $TMPDIR ] && touch made && cat data $* && rm data && echo $BELLWETHER_PHASE")
	data := jobs.File("data\n")
	infos, err := json.Marshal([]FileInfo{{"run.sh", script.SHA256(), int64(len(script))}, {"data", data.SHA256(), int64(len(data))}})
	if err != nil {
		t.Fatal(err)
	}
	job := jobs.MustNew(Define(guard))
	const output = "4000000000\n4000000001\n4000000001\ndata\n"
	for want, pairs := range map[string][]string{
		output + "map\n": nil,
		output + output + "map\n" + output + "map\n" + "merge\n": {"partitions=2", "merge=program"},
	} {
		params, err := job.Params(nil, append(pairs, `command=["./run.sh"]`, "files="+string(infos))...)
		if err != nil {
			t.Fatal(err)
		}
		result, err := jobs.Local{Grant: granted, Slots: 1, Attempts: 1}.Run(jobs.WithFiles(t.Context(), jobs.Files{script, data}), job, params)
		if err != nil || string(result.Attachment.Data()) != want {
			t.Errorf("%q, %v; want %q", result.Attachment.Data(), err, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(guard.folder, "*")); err != nil || len(left) != 1 || filepath.Base(left[0]) != groupsName {
		t.Errorf("left are %q, %v", left, err)
	}
}
