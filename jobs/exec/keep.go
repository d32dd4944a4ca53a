package exec

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/jobs"
)

// keeper contains the processes of a job with the parameter keep. Each process makes the calls of
// one slot, one at a time.
type keeper struct {
	program program
	guard   *Guard

	mu   sync.Mutex
	idle []*kept
}

// once makes a call in an idle process, or in a new process if no process is idle.
func (k *keeper) once(ctx context.Context, c call, input []byte) (output []byte, err error) {
	one, err := k.take()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.phase, err)
	}
	one.sent++
	frame := appendHeader(make([]byte, 0, len(input)+100), one.sent, c.phase, c.numbers, len(input))
	status, output, err := one.call(ctx, append(frame, input...))
	if err != nil {
		return nil, one.fail(c.phase, err)
	}
	k.put(one)
	return k.result(c.phase, status, output)
}

// appendHeader appends the line of a call to a batch. The number counts the calls of the process.
func appendHeader(batch []byte, number uint64, phase string, numbers [2]uint64, length int) []byte {
	batch = append(strconv.AppendUint(batch, number, 10), ' ')
	batch = append(append(batch, phase...), ' ')
	for _, n := range numbers {
		batch = append(strconv.AppendUint(batch, n, 10), ' ')
	}
	return append(strconv.AppendInt(batch, int64(length), 10), '\n')
}

// result returns the output or the error that an answer contains.
func (k *keeper) result(phase, status string, data []byte) ([]byte, error) {
	switch status {
	case "ok":
		return data, nil
	case "again":
		return nil, fmt.Errorf("%s: %s: %w", phase, k.program.name, errTemporary)
	}
	err := fmt.Errorf("%s: %s: %s", phase, k.program.name, bytes.ToValidUTF8(data, []byte("\uFFFD")))
	if status == "permanent" {
		err = jobs.Permanent(err)
	}
	return nil, err
}

// take returns an idle process, or starts a process if no process is idle.
func (k *keeper) take() (*kept, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for n := len(k.idle); n > 0; n = len(k.idle) {
		one := k.idle[n-1]
		k.idle = k.idle[:n-1]
		select {
		case <-one.ended: // the process has ended after its last answer
			one.close()
		default:
			return one, nil
		}
	}
	return k.start()
}

// put adds a process to the idle processes after a call.
func (k *keeper) put(one *kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.idle = append(k.idle, one)
}

// close ends all processes. The caller must call close after the last call has returned. close ends
// the standard input of each process, and kills a process that does not end in time.
func (k *keeper) close() {
	var all sync.WaitGroup
	for _, one := range k.idle {
		all.Go(one.close)
	}
	all.Wait()
}

// kept is a process that makes successive calls. The documentation of this package describes the
// frames of calls and answers.
type kept struct {
	process
	program program
	calls   io.WriteCloser
	output  *os.File // standard output
	answers *bufio.Reader
	ahead   uint64        // largest number of unanswered calls
	sent    uint64        // number of the last call; the first call of a process has the number 1
	got     uint64        // number of the last answer
	late    *time.Timer   // timer of the method limit
	ended   chan struct{} // channel that is closed after Wait has returned for the process
	err     error         // result of Wait for the process
	removed chan struct{} // channel that is closed after the working folder was removed, which follows ended

	mu     sync.Mutex
	gone   bool  // true if the process has ended, so that another process may get its number
	reason error // reason why the process was killed
}

// start starts a process.
func (k *keeper) start() (*kept, error) {
	run, err := k.program.prepare(context.Background(), k.guard, call{})
	if err != nil {
		return nil, err
	}
	one := &kept{process: run, program: k.program, ahead: 1, ended: make(chan struct{}), removed: make(chan struct{})}
	answers, stdout, err := os.Pipe()
	var ended <-chan struct{}
	if err == nil {
		run.Stdout = stdout
		if one.calls, err = run.StdinPipe(); err == nil {
			enlarge(one.calls)
			ended, err = k.guard.start(run.Cmd)
		}
		_ = stdout.Close() // the process has a duplicate of this file
		if err != nil {
			_ = answers.Close()
		}
	}
	if err != nil {
		return nil, errors.Join(err, run.remove())
	}
	one.family = newFamily(run.Process.Pid, run.Dir)
	one.output, one.answers = answers, bufio.NewReaderSize(answers, 64<<10)
	measured := one.measure()
	go func() {
		<-ended
		one.mu.Lock()
		one.gone = true
		one.mu.Unlock()
		one.err = one.wait(k.guard)
		// The last answer may still be in the pipe. A process that has left the group may keep the
		// pipe open.
		_ = answers.SetReadDeadline(time.Now().Add(drainOutput))
		close(one.ended)
		<-measured
		_ = one.remove()
		close(one.removed)
	}()
	return one, nil
}

// measure kills the process if the process uses too much memory. The returned channel is closed
// when measure has stopped measuring, after the end of the process.
func (k *kept) measure() <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		if k.program.memory == 0 || k.group != nil {
			<-k.ended
			return
		}
		ticker := time.NewTicker(measureEvery)
		defer ticker.Stop()
		for {
			select {
			case <-k.ended:
				return
			case <-ticker.C:
				if err := k.program.checkMemory(k.family); err != nil {
					k.kill(err)
				}
			}
		}
	}()
	return over
}

func (k *kept) kill(reason error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reason == nil {
		k.reason = reason
	}
	if !k.gone {
		k.family.kill()
	}
}

// close ends the process.
func (k *kept) close() {
	_ = k.calls.Close()
	select {
	case <-k.removed:
	case <-time.After(grace):
		k.kill(errors.New("it did not end after its standard input had ended"))
		<-k.removed
	}
	_ = k.output.Close()
}

// call makes one call. If call returns an error, the process must be ended.
func (k *kept) call(ctx context.Context, frame []byte) (status string, output []byte, err error) {
	spare := context.AfterFunc(ctx, func() { k.kill(context.Cause(ctx)) })
	k.log.begin(ctx)
	inTime := k.limit()
	sent := k.send(frame)
	status, output, err = k.receive()
	if err == nil {
		err = k.awaitRead(sent)
	}
	if spared, early := spare(), inTime(); err == nil && !(spared && early) {
		err = context.Canceled // the method why returns the reason, because the process was killed
	}
	if err == nil {
		err = k.quiet()
	}
	return status, output, err
}

// limit kills the process after the parameter timeout, unless the function inTime is called before.
// The result of inTime is false if the timeout has already passed.
func (k *kept) limit() (inTime func() bool) {
	if k.program.timeout == 0 {
		return func() bool { return true }
	}
	if k.late == nil {
		k.late = time.AfterFunc(k.program.timeout, func() { k.kill(fmt.Errorf("it took longer than %v", k.program.timeout)) })
	} else {
		k.late.Reset(k.program.timeout)
	}
	return k.late.Stop
}

// awaitRead waits until the process has read a call, after its answer. If the process writes more
// instead, it may never read the rest.
func (k *kept) awaitRead(sent <-chan error) error {
	select {
	case err := <-sent:
		return err
	default:
	}
	ticker := time.NewTicker(awaitReadEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-sent:
			return err
		case <-ticker.C:
			if unread(k.output) > 0 {
				_, _ = k.answers.Peek(k.answers.Buffered() + 1) // does not block
			}
			if err := k.quiet(); err != nil {
				return err
			}
		}
	}
}

const awaitReadEvery = 100 * time.Millisecond

// quiet returns an error if the process has written data after its last answer.
func (k *kept) quiet() error {
	if n := k.answers.Buffered(); n > 0 {
		data, _ := k.answers.Peek(n)
		return jobs.Permanent(fmt.Errorf("it wrote %.80q after the answer: want one answer for each call", data))
	}
	return nil
}

// fail ends a process because of an error, and returns the error of the call that has failed.
func (k *kept) fail(phase string, err error) error {
	k.kill(err)
	<-k.removed
	_ = k.output.Close()
	p := k.program
	p.phase = phase
	return p.failed(k.why(), k.stderr)
}

// why returns the reason why the process ended during a call.
func (k *kept) why() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	outputEnded := errors.Is(k.reason, io.EOF) || errors.Is(k.reason, io.ErrUnexpectedEOF) || errors.Is(k.reason, syscall.EPIPE) || errors.Is(k.reason, os.ErrDeadlineExceeded)
	switch {
	case k.reason != nil && !outputEnded:
		return k.reason
	case k.err == nil:
		return errors.New("it ended during a call, with status 0")
	}
	return fmt.Errorf("it ended during a call: %w", k.err)
}

// pipeSize is the smallest capacity of a pipe in bytes. Writes beyond the capacity block until the
// reader has read.
const pipeSize = 4 << 10

// send writes a call to the process. A large call is written by a separate goroutine while the
// answer is read, because a program may answer before it has read the whole call.
func (k *kept) send(frame []byte) <-chan error {
	sent := make(chan error, 1)
	write := func() {
		_, err := k.calls.Write(frame)
		sent <- err
	}
	if len(frame) <= pipeSize {
		write()
	} else {
		go write()
	}
	return sent
}

var statuses = []string{"ok", "fail", "permanent", "again"}

// receive reads an answer.
func (k *kept) receive() (status string, data []byte, err error) {
	line, err := k.answers.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, bufio.ErrBufferFull) {
			err = errAnswer(line)
		}
		return "", nil, err
	}
	number, word, length, valid := parseAnswer(line)
	if !valid {
		return "", nil, errAnswer(line)
	}
	if k.got++; number != k.got {
		return "", nil, jobs.Permanent(fmt.Errorf("it answered the call %d: want an answer to the call %d, which is the next one", number, k.got))
	}
	if length > k.program.output {
		return "", nil, jobs.Permanent(fmt.Errorf("it announced an answer of %s: raise max-output from %s, or write less", humanize.IBytes(uint64(length)), humanize.IBytes(uint64(k.program.output))))
	}
	if length <= largeAnswer {
		data = make([]byte, length)
		_, err = io.ReadFull(k.answers, data)
		return word, data, err
	}
	var answer chunks // grows with the data, because the process may announce more than it writes
	_, err = io.CopyN(&answer, k.answers, length)
	return word, answer.bytes(), err
}

// largeAnswer is the number of bytes of an answer from which on its memory grows with the data.
const largeAnswer = 64 << 10

// parseAnswer parses the line of an answer.
func parseAnswer(line []byte) (number uint64, status string, length int64, valid bool) {
	words := strings.Split(strings.TrimSuffix(string(line), "\n"), " ")
	if len(words) != 3 || !slices.Contains(statuses, words[1]) {
		return 0, "", 0, false
	}
	number, err := strconv.ParseUint(words[0], 10, 64)
	if err != nil {
		return 0, "", 0, false
	}
	length, err = strconv.ParseInt(words[2], 10, 64)
	return number, words[1], length, err == nil && length >= 0
}

func errAnswer(line []byte) error {
	return jobs.Permanent(fmt.Errorf("it answered %.80q: want a line of the number of the call, one of ok, fail, permanent and again, and the number of bytes that follow", line))
}
