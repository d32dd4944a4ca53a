//go:build unix

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// clients is the number of clients. Each client runs one operation at a time.
const clients = 3

// answerWithin is the timeout of a command, and retryInterval is the pause before a failed command
// is retried.
const (
	answerWithin  = 2 * time.Second
	retryInterval = 100 * time.Millisecond
)

// outcome is the CLI's output for a job that has ended.
type outcome struct {
	ID         string      `json:"id"`
	State      store.State `json:"state"`
	Partitions uint64      `json:"partitions"`
	Rounds     uint64      `json:"rounds"` // 0 for a job without rounds
	SHA256     string      `json:"sha256"`
	Executed   uint64      `json:"executed"`
	Repeated   uint64      `json:"repeated"`
	Error      string      `json:"error"`
	Finished   time.Time   `json:"finished"`
}

type failure struct {
	args   []string
	status int
	text   string
}

func (f *failure) Error() string {
	return fmt.Sprintf("%s: status %d: %s", strings.Join(f.args, " "), f.status, f.text)
}

// ask runs a command of the CLI and decodes the command's output, if any, into answer.
func (c *cluster) ask(answer any, args ...string) error {
	var out, errs bytes.Buffer
	status := c.Command(c.ctx, slices.Concat(args, []string{"-o", "json", "--reply-timeout", answerWithin.String()}, c.flags), &out, &errs)
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), answer); err != nil {
			return fmt.Errorf("%v: %w", args, err)
		}
	}
	if status != 0 {
		return &failure{args, status, strings.TrimSpace(errs.String())}
	}
	return nil
}

// runClient runs operations sequentially. runClient starts no operation after the end of the
// faults, but the last operation may end later.
func (c *cluster) runClient(number int, until time.Time, settleCtx context.Context) {
	generator := newGenerator(c.Seed, number, c.Storage)
	for n := 1; c.ctx.Err() == nil; n++ {
		o := generator.next()
		left := time.Until(until)
		if left <= 0 {
			return
		}
		if left < o.needs {
			continue
		}
		o.faults = append(o.faults, c.onceDir(o, fmt.Sprintf("%d-%d", number, n))...)
		c.runOp(settleCtx, o)
	}
}

// onceDir makes a folder in which the job probe counts its injected faults. onceDir returns the job
// parameter that names the folder, or nil for other jobs.
func (c *cluster) onceDir(o op, name string) []string {
	if o.job != "probe" {
		return nil
	}
	dir := filepath.Join(c.dir.once, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		c.history.violation("%v", err)
	}
	return []string{"once-dir=" + dir}
}

// runOp submits the job of an operation, cancels the job if o.cancelAfter is set, waits until
// the job has ended, and checks the outcome.
func (c *cluster) runOp(settleCtx context.Context, o op) {
	id, ok := c.submit(settleCtx, o)
	if !ok {
		return
	}
	c.history.submitted(id, o)
	if o.cancelAfter > 0 {
		c.pause(o.cancelAfter)
		if !c.cancel(settleCtx, id) {
			return
		}
	}
	var got outcome
	for {
		err := c.ask(&got, "watch", id)
		if got.State.Final() {
			break
		}
		if c.isLost(id, err) {
			return
		}
		if !c.retry(settleCtx, o, id, err) {
			return
		}
	}
	c.history.ended(o, got)
	c.check(o, got)
}

// retry waits for retryInterval and reports whether to retry a failed command.
func (c *cluster) retry(settleCtx context.Context, o op, id string, err error) bool {
	c.pause(retryInterval)
	if c.ctx.Err() == nil && settleCtx.Err() == nil {
		return true
	}
	if c.ctx.Err() == nil {
		c.history.violation("job %s (%s): not done %v after the last fault: %v", id, o.name, SettleWithin, err)
	}
	return false
}

func (c *cluster) submit(settleCtx context.Context, o op) (id string, ok bool) {
	args := append([]string{"submit", o.job}, o.flags...)
	for _, p := range slices.Concat(o.params, o.faults) {
		args = append(args, "-p", p)
	}
	var answer struct{ ID string }
	ok = c.insist(settleCtx, o, "not submitted", func() error {
		err := c.ask(&answer, args...)
		if err != nil {
			c.history.addUnconfirmed(o)
		}
		return err
	})
	return answer.ID, ok
}

func (c *cluster) cancel(settleCtx context.Context, id string) bool {
	var answer struct{ State store.State }
	return c.insist(settleCtx, op{name: "cancel"}, id, func() error {
		err := c.ask(&answer, "cancel", id)
		if c.isLost(id, err) {
			return nil // watching the job shows it too
		}
		return err
	})
}

// insist repeats a command until it succeeds, and returns false if it may not be repeated.
func (c *cluster) insist(settleCtx context.Context, o op, id string, command func() error) bool {
	for {
		err := command()
		if err == nil {
			return true
		}
		if !c.retry(settleCtx, o, id, err) {
			return false
		}
	}
}

func (c *cluster) check(o op, got outcome) {
	violation := func(format string, args ...any) {
		c.history.violation("job %s (%s) %s", got.ID, o.name, fmt.Sprintf(format, args...))
	}
	if got.State == store.Failed && c.history.mayBeLost(got.ID) && strings.Contains(got.Error, " or damaged") {
		c.history.note("failed by damage: %s: %s", got.ID, got.Error)
		return
	}
	if got.State != o.want || !strings.Contains(got.Error, o.reason) {
		violation("is %s (%s), want %s (%s)", got.State, got.Error, o.want, o.reason)
		return
	}
	if got.State != store.Completed {
		return
	}
	var want outcome
	var err error
	if c.until("storage can be read", func() bool {
		want, err = c.reference(o)
		return err == nil || o.job != "scan" // only the job scan reads from storage, which may be unavailable now
	}); err != nil {
		violation("has no reference: %v", err)
		return
	}
	if got.SHA256 != want.SHA256 || got.Partitions != want.Partitions {
		violation("has the result %s of %d partitions, run gives %s of %d", got.SHA256, got.Partitions, want.SHA256, want.Partitions)
	}
	if all := got.Partitions * max(1, got.Rounds); got.Rounds != want.Rounds || got.Executed < all || got.Repeated != got.Executed-all {
		violation("executed %d and repeated %d in %d rounds do not fit %d partitions in %d rounds", got.Executed, got.Repeated, got.Rounds, got.Partitions, want.Rounds)
	}
}

// reference runs the job of an operation in this process without faults.
func (c *cluster) reference(o op) (want outcome, err error) {
	args := []string{"run", o.job}
	for _, p := range o.params {
		args = append(args, "-p", p)
	}
	err = c.ask(&want, args...)
	if err == nil && want.SHA256 == "" {
		err = fmt.Errorf("%v gives no result", args)
	}
	return want, err
}
