package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	// maxViewers bounds the event streams of a process.
	maxViewers = 32
	// lookEvery is the interval at which a stream asks for the leader. For data that change slowly
	// the interval is a multiple of lookEvery.
	lookEvery = 500 * time.Millisecond
	// writeTimeout is how long a browser may take to read an event. The stream of a slower browser
	// is closed, and the browser connects again.
	writeTimeout = 5 * time.Second
)

// stream is the event stream of one viewer.
type stream struct {
	page    *Page
	out     io.Writer
	flush   func() error
	extend  func() error      // extends the deadline for writing
	sent    map[string][]byte // the last data of each event
	job     string            // the job that the viewer has opened, or empty
	windows []client.Window
	show    string
	before  string // the parameter "before" of the jobs that the viewer sees
	after   string // the parameter "after" of the workers that the viewer sees

	epoch   uint64 // epoch of the leader that was last seen
	settled bool   // the terms that were sent are complete
	ended   bool   // the job's last state was sent
}

// serveEvents serves /api/v1/events.
func (p *Page) serveEvents(w http.ResponseWriter, r *http.Request) {
	windows, err := windowsOf(r)
	job := r.FormValue("job")
	switch {
	case err != nil:
		writeError(w, statusOf(err), err.Error())
		return
	case job != "" && !store.ValidID(job):
		writeError(w, http.StatusBadRequest, "job: want the whole ID of a job")
		return
	}
	select {
	case p.viewers <- struct{}{}:
		defer func() { <-p.viewers }()
	default:
		writeError(w, http.StatusServiceUnavailable, fmt.Sprintf("this worker has %d viewers, its maximum: use another worker", maxViewers))
		return
	}
	rc := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	s := &stream{
		page: p, sent: map[string][]byte{}, job: job, windows: windows,
		show: r.FormValue("show"), before: r.FormValue("before"), after: r.FormValue("after"),
		extend: func() error { return rc.SetWriteDeadline(time.Now().Add(writeTimeout)) },
	}
	s.out, s.flush = compressed(w, r)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for turn := 0; ; turn++ {
		if s.look(r.Context(), turn) != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// look asks the cluster for the figures that are due, and sends those that have changed. It returns
// an error if the viewer has disconnected.
func (s *stream) look(ctx context.Context, turn int) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	p := s.page
	c, err := p.connect(ctx)
	if err != nil {
		return s.end(s.send("problem", errorAnswer{textOf(err)}))
	}
	every := func(turns int) bool { return turn%turns == 0 }

	look, workers := p.clusterOf(ctx, c)
	epoch := uint64(0)
	if look.Leader != nil {
		epoch = look.Leader.Epoch
	}
	changed := epoch != s.epoch
	s.epoch = epoch
	if changed || every(2) {
		if s.after != "" {
			answer, err := c.WorkersAfter(ctx, s.after, maxPage)
			if err == nil {
				workers = newWorkersAnswer(answer, maxPage)
			}
		}
		if err := s.send("cluster", look); err != nil {
			return err
		}
		if look.Leader != nil {
			if err := s.send("workers", workers); err != nil {
				return err
			}
		}
	}
	if err := s.end(nil); err != nil { // send these now, because the answers of storage take longer
		return err
	}
	if s.job != "" && every(2) {
		if err := s.lookAtJob(ctx, c, every(20)); err != nil {
			return err
		}
	}
	if changed || !s.settled || every(20) {
		terms, err := p.termsBefore(ctx, c, 0, maxPage)
		if err := s.sendOr("terms", terms, err); err != nil {
			return err
		}
		s.settled = err == nil && len(terms.Terms) > 0 && terms.Terms[0].Epoch >= epoch && (terms.Terms[0].FirstResult != nil || time.Since(terms.Terms[0].At) > time.Minute)
	}
	if every(4) {
		jobs, err := p.jobsBefore(ctx, c, s.show, s.before, maxPage)
		if err := s.sendOr("jobs", jobs, err); err != nil {
			return err
		}
	}
	if turn == 0 {
		output, err := p.throughput(ctx, c)
		if err := s.sendOr("throughput", output, err); err != nil {
			return err
		}
	}
	return s.end(nil)
}

// lookAtJob sends the live figures of the opened job. If stored is true or the job has
// ended, lookAtJob also sends the job's figures from storage.
func (s *stream) lookAtJob(ctx context.Context, c *client.Client, stored bool) error {
	if s.ended {
		return nil
	}
	m, err := mapOf(ctx, c, s.job, s.windows)
	switch {
	case err == nil:
		if err := s.send("map", m); err != nil {
			return err
		}
	case errors.Is(err, client.ErrNotFound):
		stored = true // the job has ended, or has not begun
	case !stored:
		return nil // no leader answers
	}
	if !stored {
		return nil
	}
	job, err := s.page.job(ctx, c, s.job)
	if err := s.sendOr("job", job, err); err != nil {
		return err
	}
	s.ended = err == nil && job.State.Final() || errors.Is(err, client.ErrNotFound)
	samples, err := samplesOf(ctx, c, s.job)
	return s.sendOr("samples", samples, err)
}

// sendOr sends an answer, or an error event if err is not nil.
func (s *stream) sendOr(event string, answer any, err error) error {
	if err != nil {
		return s.send(event+"-error", errorAnswer{textOf(err)})
	}
	delete(s.sent, event+"-error")
	return s.send(event, answer)
}

// send sends an event, unless the data have not changed since the last time.
func (s *stream) send(event string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", event, err)
	}
	if bytes.Equal(s.sent[event], data) {
		return nil
	}
	s.sent[event] = data
	if err := s.extend(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "event: %s\ndata: %s\n\n", event, data)
	return err
}

// end flushes the events that were written so far.
func (s *stream) end(err error) error {
	if err != nil {
		return err
	}
	if err := s.extend(); err != nil {
		return err
	}
	return s.flush()
}
