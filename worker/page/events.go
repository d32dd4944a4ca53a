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
	// maxViewers is the maximum number of event streams of a process.
	maxViewers = 32
	// lookEvery is the interval at which a stream queries the leader and the cluster's statistics.
	// Data that changes slowly is queried less often, at multiples of lookEvery. All streams query
	// at the same times, so that they can share answers.
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
	extend  func() error      // function that extends the write deadline
	sent    map[string][]byte // data of the last event of each kind
	job     string            // ID of the job that the viewer has opened, or empty
	windows []client.Window
	list    client.Query // the jobs that the viewer sees
	after   string       // the parameter "after" of the workers that the viewer sees

	epoch   uint64 // epoch of the last known leader
	settled bool   // the list of terms that was sent will not change any more
	ended   bool   // the final state of the job was sent
	missing bool   // the job does not exist
	looks   int    // number of queries of the job's events since the job has ended
	begun   bool   // the throughput before the page was opened was sent
}

// serveEvents serves /api/v1/events.
func (p *Page) serveEvents(w http.ResponseWriter, r *http.Request) {
	windows, err := windowsOf(r)
	if err != nil {
		writeError(w, statusOf(err), err.Error())
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
		page: p, sent: map[string][]byte{}, job: r.FormValue("job"), windows: windows,
		list: queryOf(r, maxPage), after: r.FormValue("after"),
		extend: func() error { return rc.SetWriteDeadline(time.Now().Add(writeTimeout)) },
	}
	s.out, s.flush = compressed(w, r)
	if s.look(r.Context(), func(int64) bool { return true }) != nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next := time.Now().Truncate(lookEvery).Add(lookEvery)
		timer.Reset(time.Until(next))
		select {
		case <-r.Context().Done():
			return
		case <-timer.C:
		}
		turn := next.UnixNano() / int64(lookEvery)
		if s.look(r.Context(), func(turns int64) bool { return turn%turns == 0 }) != nil {
			return
		}
	}
}

// look queries the data that is due, and sends the data that has changed. The parameter every
// reports whether data with a given interval, a multiple of lookEvery, is due. look returns an
// error if the viewer has disconnected.
func (s *stream) look(ctx context.Context, every func(turns int64) bool) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	p := s.page
	c, err := p.connect(ctx)
	if err != nil {
		return s.end(s.send("problem", errorAnswer{textOf(err)}))
	}
	changed, err := s.lookAtCluster(ctx, c, every(2))
	if err := s.end(err); err != nil { // flush now, because answers from storage take longer
		return err
	}
	if s.job != "" && every(2) {
		if err := s.lookAtJob(ctx, c, every(20)); err != nil {
			return err
		}
	}
	if s.job != "" && every(4) {
		if err := s.lookAtJournal(ctx, c); err != nil {
			return err
		}
	}
	if changed || !s.settled || every(20) {
		terms, err := p.termsBefore(ctx, c, 0, maxPage)
		if err := s.sendOr("terms", terms, err); err != nil {
			return err
		}
		s.settled = err == nil && len(terms.Terms) > 0 && terms.Terms[0].Epoch >= s.epoch && (terms.Terms[0].FirstResult != nil || time.Since(terms.Terms[0].At) > time.Minute)
	}
	if every(4) {
		jobs, err := p.jobList(ctx, c, s.list)
		if err := s.sendOr("jobs", jobs, err); err != nil {
			return err
		}
	}
	if every(20) {
		list, err := p.poisonedAfter(ctx, c, "", maxPage)
		if err := s.sendOr("poisoned", list, err); err != nil {
			return err
		}
	}
	if !s.begun {
		s.begun = true
		output, err := p.throughput(ctx, c)
		if err := s.sendOr("throughput", output, err); err != nil {
			return err
		}
	}
	return s.end(nil)
}

// lookAtCluster queries the leader, and sends its answer if the answer is due or the leader has
// changed. lookAtCluster reports whether the leader has changed.
func (s *stream) lookAtCluster(ctx context.Context, c *client.Client, due bool) (changed bool, err error) {
	limit := 0
	if due {
		limit = maxPage
	}
	now := s.page.clusterOf(ctx, c, limit)
	changed = now.epoch() != s.epoch
	if changed && !due {
		now = s.page.clusterOf(ctx, c, maxPage)
	}
	s.epoch = now.epoch()
	if !changed && !due {
		return false, nil
	}
	if err := s.send("cluster", now.cluster); err != nil {
		return changed, err
	}
	return changed, s.sendWorkers(ctx, c, now)
}

// sendWorkers sends the page of the list of workers that the viewer has opened, if a leader
// answers.
func (s *stream) sendWorkers(ctx context.Context, c *client.Client, now clusterNow) error {
	switch {
	case now.cluster.Leader == nil:
		return nil
	case s.after == "":
		return s.sendData("workers", now.encoded)
	}
	answer, err := c.WorkersAfter(ctx, s.after, maxPage)
	if err != nil {
		return nil // the leader does not answer any more
	}
	return s.send("workers", newWorkersAnswer(answer, maxPage))
}

// lookAtJob sends the live statistics of the job that the viewer has opened. If stored is true or
// the job has ended, lookAtJob also sends the job's data from storage.
func (s *stream) lookAtJob(ctx context.Context, c *client.Client, stored bool) error {
	switch {
	case s.ended:
		return nil
	case !store.ValidID(s.job): // a status of 400 would not reach the page, because browsers hide it
		return s.noJob()
	}
	m, err := s.page.mapOf(ctx, c, s.job, s.windows)
	switch {
	case err == nil:
		if err := s.send("map", m); err != nil {
			return err
		}
	case errors.Is(err, client.ErrNotFound):
		stored = true // the job has ended or has no plan yet
	case !stored:
		return nil // no leader answers
	}
	if !stored {
		return nil
	}
	job, err := s.page.job(ctx, c, s.job)
	if errors.Is(err, client.ErrNotFound) {
		return s.noJob()
	}
	if err := s.sendOr("job", job, err); err != nil {
		return err
	}
	s.ended = err == nil && job.State.Final()
	samples, err := s.page.samples(ctx, c, s.job)
	return s.sendOr("samples", samples, err)
}

// lastLooks is how often the events of a job that has ended are queried: every 2 s for longer than leaders take to
// write the last ones.
const lastLooks = 10

// lookAtJournal sends the events of the job that the viewer has opened.
func (s *stream) lookAtJournal(ctx context.Context, c *client.Client) error {
	if s.missing || s.looks >= lastLooks {
		return nil
	}
	if s.ended {
		s.looks++
	}
	answer, err := s.page.journal(ctx, c, s.job)
	return s.sendOr("events", answer, err)
}

// noJob says that the job that the viewer has opened does not exist, and ends the queries for it.
func (s *stream) noJob() error {
	s.ended, s.missing = true, true
	return s.send("job-error", errorAnswer{fmt.Sprintf("No job has the ID %.100q: the link is wrong, or the job was removed.", s.job)})
}

// sendOr sends an answer, or an error event if err is not nil.
func (s *stream) sendOr(event string, answer any, err error) error {
	if err != nil {
		return s.send(event+"-error", errorAnswer{textOf(err)})
	}
	delete(s.sent, event+"-error")
	return s.send(event, answer)
}

// send sends an event, unless the last event of the same kind had the same data.
func (s *stream) send(event string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", event, err)
	}
	return s.sendData(event, data)
}

// sendData is like send, for encoded data.
func (s *stream) sendData(event string, data []byte) error {
	if bytes.Equal(s.sent[event], data) {
		return nil
	}
	s.sent[event] = data
	if err := s.extend(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "event: %s\ndata: %s\n\n", event, data)
	return err
}

// end flushes the written events.
func (s *stream) end(err error) error {
	if err != nil {
		return err
	}
	if err := s.extend(); err != nil {
		return err
	}
	return s.flush()
}
