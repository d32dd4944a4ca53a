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

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// customers is how many there are. Each has one job done at a time.
const customers = 3

// answerWithin is the time that a command has for answers. Between two tries of one
// that had none, a customer waits.
const (
	answerWithin = 2 * time.Second
	impatience   = 100 * time.Millisecond
)

// outcome is what commands print of a job that has ended.
type outcome struct {
	ID         string      `json:"id"`
	State      store.State `json:"state"`
	Partitions uint64      `json:"partitions"`
	SHA256     string      `json:"sha256"`
	Executed   uint64      `json:"executed"`
	Repeated   uint64      `json:"repeated"`
	Error      string      `json:"error"`
	Finished   time.Time   `json:"finished"`
}

// failure is a command that did not succeed.
type failure struct {
	args   []string
	status int
	text   string
}

func (f *failure) Error() string {
	return fmt.Sprintf("%s: status %d: %s", strings.Join(f.args, " "), f.status, f.text)
}

// ask runs a command of the CLI and decodes what it prints, if it prints something.
func (c *cluster) ask(answer any, args ...string) error {
	var out, errs bytes.Buffer
	streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
	status := cli.Run(c.ctx, slices.Concat(args, []string{"-o", "json", "--timeout", answerWithin.String()}, c.flags), streams, c.jobs...)
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

// buy has orders done until time is up, and the last one after that.
func (c *cluster) buy(number int, until time.Time, patience context.Context) {
	orders := newOrders(c.seed, number)
	for n := 1; c.ctx.Err() == nil; n++ {
		o := orders.next()
		left := time.Until(until)
		if left <= 0 {
			return
		}
		if left < o.needs {
			continue
		}
		o.faults = append(o.faults, c.onceDir(o, fmt.Sprintf("%d-%d", number, n))...)
		c.order(patience, o)
	}
}

// onceDir makes the directory in which an order's faults are counted.
func (c *cluster) onceDir(o order, name string) []string {
	if o.job != "probe" {
		return nil
	}
	dir := filepath.Join(c.dir.once, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		c.book.complain("%v", err)
	}
	return []string{"once-dir=" + dir}
}

// order submits a job, cancels it if that is ordered, waits for its end and checks
// that.
func (c *cluster) order(patience context.Context, o order) {
	id, ok := c.submit(patience, o)
	if !ok {
		return
	}
	c.book.submitted(id, o)
	if o.cancelAfter > 0 {
		c.pause(o.cancelAfter)
		if !c.cancel(patience, id) {
			return
		}
	}
	var got outcome
	for {
		err := c.ask(&got, "watch", id)
		if got.State.Final() {
			break
		}
		if !c.again(patience, o, id, err) {
			return
		}
	}
	c.book.ended(o, got)
	c.check(o, got)
}

// again reports whether a command that failed is worth another try, and waits before
// it.
func (c *cluster) again(patience context.Context, o order, id string, err error) bool {
	c.pause(impatience)
	if c.ctx.Err() == nil && patience.Err() == nil {
		return true
	}
	if c.ctx.Err() == nil {
		c.book.complain("job %s (%s): not done %v after the last fault: %v", id, o.name, SettleWithin, err)
	}
	return false
}

func (c *cluster) submit(patience context.Context, o order) (id string, ok bool) {
	args := append([]string{"submit", o.job}, o.flags...)
	for _, p := range slices.Concat(o.params, o.faults) {
		args = append(args, "-p", p)
	}
	for {
		var answer struct{ ID string }
		err := c.ask(&answer, args...)
		if err == nil {
			return answer.ID, true
		}
		c.book.unconfirmed(o)
		if !c.again(patience, o, "not submitted", err) {
			return "", false
		}
	}
}

func (c *cluster) cancel(patience context.Context, id string) bool {
	for {
		var answer struct{ State store.State }
		err := c.ask(&answer, "cancel", id)
		if err == nil {
			return true
		}
		if !c.again(patience, order{name: "to be cancelled"}, id, err) {
			return false
		}
	}
}

// check compares how a job has ended with what was ordered.
func (c *cluster) check(o order, got outcome) {
	complain := func(format string, args ...any) {
		c.book.complain("job %s (%s) %s", got.ID, o.name, fmt.Sprintf(format, args...))
	}
	if got.State != o.want || !strings.Contains(got.Error, o.reason) {
		complain("is %s (%s), want %s (%s)", got.State, got.Error, o.want, o.reason)
		return
	}
	if got.State != store.Completed {
		return
	}
	want, err := c.reference(o)
	if err != nil {
		complain("has no reference: %v", err)
		return
	}
	if got.SHA256 != want.SHA256 || got.Partitions != want.Partitions {
		complain("has the result %s of %d partitions, run gives %s of %d", got.SHA256, got.Partitions, want.SHA256, want.Partitions)
	}
	if got.Executed < got.Partitions || got.Repeated != got.Executed-got.Partitions {
		complain("executed %d and repeated %d do not fit %d partitions", got.Executed, got.Repeated, got.Partitions)
	}
}

// reference runs a job in this process, without what goes wrong.
func (c *cluster) reference(o order) (want outcome, err error) {
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
