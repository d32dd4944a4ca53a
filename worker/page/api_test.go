package page_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/worker"
	"github.com/bellwether-compute/bellwether/worker/page"
)

type (
	clusterAnswer struct {
		Leader *struct {
			Epoch  uint64 `json:"epoch"`
			Worker string `json:"worker"`
		} `json:"leader"`
		Totals *struct {
			Workers int `json:"workers"`
			Slots   int `json:"slots"`
			Busy    int `json:"busy"`
		} `json:"totals"`
	}
	jobsAnswer struct {
		Jobs []struct {
			ID     string `json:"id"`
			State  string `json:"state"`
			Needed uint64 `json:"needed"`
		} `json:"jobs"`
		Next string `json:"next"`
		All  int    `json:"all"`
	}
	jobAnswer struct {
		State  string          `json:"state"`
		Result json.RawMessage `json:"result"`
		SHA256 string          `json:"sha256"`
		Again  string          `json:"again"`
	}
	mapAnswer struct {
		Partitions uint64 `json:"partitions"`
		Done       uint64 `json:"done"`
		Total      struct {
			Held     uint64 `json:"held"`
			Computed uint64 `json:"computed"`
			Durable  uint64 `json:"durable"`
			Failed   uint64 `json:"failed"`
		} `json:"total"`
		Left        *float64 `json:"left_ms"`
		HeldBytes   uint64   `json:"held_bytes"`
		MergedBytes uint64   `json:"merged_bytes"`
		MergeRate   float64  `json:"merge_rate"`
		Merges      []struct {
			Node   string  `json:"node"`
			Worker string  `json:"worker"`
			Bytes  uint64  `json:"bytes"`
			For    float64 `json:"for_ms"`
		} `json:"merges"`
		Tree    []struct{ Done uint64 }  `json:"tree"`
		Errors  []struct{ Error string } `json:"errors"`
		Holders []string                 `json:"holders"`
		Windows []struct {
			Lo   uint64      `json:"lo"`
			Step uint64      `json:"step"`
			Runs [][7]uint64 `json:"runs"`
		} `json:"windows"`
	}
	samplesAnswer struct {
		Partitions uint64 `json:"partitions"`
		Step       uint64 `json:"step"`
		Samples    []struct {
			At    float64 `json:"at_ms"`
			Done  uint64  `json:"done"`
			Cells []byte  `json:"cells"`
		} `json:"samples"`
		Retried [][2]uint64 `json:"retried"`
	}
	poisonedAnswer struct {
		Poisoned []struct{ Name, Reason, Requeue string }
		Next     string
	}
	errorAnswer struct {
		Error string `json:"error"`
	}
)

// TestAPI queries a job of 10^9 partitions while it runs, and then follows a short job to its end.
func TestAPI(t *testing.T) {
	c := newCluster(t)
	api := c.start(2, nil) + "/api/v1/"
	const partitions = 1_000_000_000
	id := c.submit(stepsParams{Partitions: partitions, Sleep: time.Millisecond}, client.SubmitOptions{})

	var m mapAnswer
	url := api + "jobs/" + id + "/map?window=0:1000000:1000&window=0:1:200"
	c.until("200 partitions are durable", func() bool { return c.get(url, &m) == 200 && m.Total.Durable >= 200 })
	if m.Partitions != partitions || m.Done != m.Total.Durable+m.Total.Computed || m.Tree[0].Done != m.Done {
		t.Errorf("map: got %+v", m)
	}
	cells := func(i int) (all, held, durable uint64) {
		for _, r := range m.Windows[i].Runs {
			all += r[0]
			held += r[0] * r[1]
			durable += r[0] * r[3]
			if r[1] > 0 && (r[6] == 0 || m.Holders[r[6]-1] == "") {
				t.Errorf("window %d: nobody holds the partitions in %v", i, r)
			}
		}
		return all, held, durable
	}
	if all, held, durable := cells(0); all != 1000 || held != m.Total.Held || durable != m.Total.Durable {
		t.Errorf("the whole job: got %d cells with %d held and %d durable partitions, want 1000 with %d and %d", all, held, durable, m.Total.Held, m.Total.Durable)
	}
	if all, _, durable := cells(1); all != 200 || durable > m.Total.Durable || durable == 0 {
		t.Errorf("a part of it: got %d cells with %d durable partitions, want 200 with some", all, durable)
	}

	var about clusterAnswer
	var workers struct {
		Workers []struct {
			ID      string                  `json:"id"`
			Version string                  `json:"version"`
			Cost    float64                 `json:"cost"`
			Running []struct{ Slot int }    `json:"running"`
			Usage   struct{ Memory uint64 } `json:"usage"`
		} `json:"workers"`
	}
	if c.get(api+"cluster", &about); about.Leader == nil || about.Totals.Workers != 1 || about.Totals.Slots != 2 {
		t.Errorf("cluster: got %+v", about)
	}
	if c.get(api+"workers", &workers); len(workers.Workers) != 1 || workers.Workers[0].Usage.Memory == 0 || workers.Workers[0].Version != "v1.2.3" {
		t.Errorf("workers: got %+v", workers)
	}
	slots := map[int]bool{}
	for _, r := range workers.Workers[0].Running {
		slots[r.Slot] = true
	}
	if len(slots) != len(workers.Workers[0].Running) || slots[0] || len(slots) > 0 && !slots[1] && !slots[2] {
		t.Errorf("running spans: got %+v, want the slots 1 and 2", workers.Workers[0].Running)
	}
	if err := c.client.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}

	short := c.submit(stepsParams{Partitions: 100, Fail: 7}, client.SubmitOptions{MaxAttempts: 2, MaxSkipped: 1})
	c.letEnd(short)
	var j jobAnswer
	if c.get(api+"jobs/"+short, &j); j.State != "completed" || !strings.Contains(string(j.Result), "99") || j.SHA256 == "" || !strings.Contains(j.Again, "run steps -p fail=7") {
		t.Errorf("job: got %+v", j)
	}
	var s samplesAnswer
	if c.get(api+"jobs/"+short+"/samples", &s); s.Partitions != 100 || s.Step != 2 || s.Samples[len(s.Samples)-1].Done != 100 || len(s.Samples[len(s.Samples)-1].Cells) != 50 || fmt.Sprint(s.Retried) != "[[7 8]]" {
		t.Errorf("samples: got %+v", s)
	}
	var none errorAnswer
	if code := c.get(api+"jobs/"+short+"/map", &none); code != 200 || none.Error == "" {
		t.Errorf("map of a job that has ended: got %d, %+v, want a reason", code, none)
	}
	var terms struct{ Terms []struct{ Cause string } }
	if c.get(api+"terms", &terms); len(terms.Terms) != 1 || terms.Terms[0].Cause != "first" {
		t.Errorf("terms: got %+v", terms)
	}

	var page jobsAnswer
	if c.get(api+"jobs?limit=1", &page); len(page.Jobs) != 1 || page.Jobs[0].ID != short || page.Next != short || page.All != 2 {
		t.Errorf("first page of jobs: got %+v", page)
	}
	if c.get(api+"jobs?limit=1&before="+short, &page); len(page.Jobs) != 1 || page.Jobs[0].ID != id || page.Next != "" {
		t.Errorf("second page of jobs: got %+v", page)
	}
	if c.get(api+"jobs?show=active", &page); len(page.Jobs) != 0 {
		t.Errorf("jobs that have not ended: got %+v", page)
	}
	if c.get(api+"jobs?show=ended", &page); len(page.Jobs) != 2 {
		t.Errorf("jobs that have ended: got %+v", page)
	}

	for path, want := range map[string]int{
		"nothing": 404, "jobs/x": 400, "jobs/0000000000000000": 404, "jobs?limit=101": 400, "jobs?limit=0": 400, "jobs?show=some": 400, "jobs?before=x": 400,
		"workers?after=.": 400, "terms?before=x": 400, "poisoned?limit=0": 400, "jobs/" + id + "/map?window=1": 400, "jobs/" + id + "/map?window=0:0:1": 400,
		"jobs/" + id + "/map?window=0:1:4097": 400, "save?job=x": 400,
	} {
		var e errorAnswer
		if got := c.get(api+path, &e); got != want || e.Error == "" {
			t.Errorf("%s: got %d, %q, want %d", path, got, e.Error, want)
		}
	}

	var saved string
	if c.get(api+"save?job="+short, &saved); !strings.Contains(saved, j.SHA256) || strings.Contains(saved, "<script>alert") || strings.Contains(saved, "src=") {
		t.Errorf("the saved page lacks the result or is not alone, %d bytes", len(saved))
	}
}

// TestLargePartials queries a job of large partials while it maps, and during its last merge.
func TestLargePartials(t *testing.T) {
	c := newCluster(t)
	api := c.start(1, func(cfg *worker.Config) { cfg.ID = "w1" }) + "/api/v1/"
	c.start(1, func(cfg *worker.Config) { cfg.ID = "w2" })
	const partitions = 64
	id := c.submitBlocks(partitions)
	url := api + "jobs/" + id + "/map"
	var m mapAnswer
	c.until("partitions are left, and the time that they take is known", func() bool {
		return c.get(url, &m) == 200 && 0 < m.Done && m.Done < partitions && m.Left != nil
	})
	if *m.Left <= 0 || m.HeldBytes < blockSize || m.Merges == nil {
		t.Errorf("while the job maps: got %v ms left, %d bytes held and the merges %v", *m.Left, m.HeldBytes, m.Merges)
	}
	c.until("only the last merge is left, and the time that it takes is known", func() bool {
		return c.get(url, &m) == 200 && m.Done == partitions && len(m.Merges) == 1 && m.Merges[0].Node == "6/0" && m.Merges[0].For > 0 && m.Left != nil
	})
	if merge := m.Merges[0]; merge.Worker != "w1" && merge.Worker != "w2" || merge.Bytes != 2*blockSize {
		t.Errorf("last merge: got %+v", merge)
	}
	if m.HeldBytes < 2*blockSize || m.MergedBytes < 2*blockSize { // the operands of a merge may be held until its result is durable
		t.Errorf("last merge: %d bytes are held and %d bytes are merged, want at least both operands", m.HeldBytes, m.MergedBytes)
	}
	if want := blockSize / m.MergeRate * 1000; math.Abs(*m.Left-want) > 1 {
		t.Errorf("last merge: got %v ms left, want %v ms at %v bytes/s", *m.Left, want, m.MergeRate)
	}
	c.letEnd(id)
}

// TestWithoutFleet queries a job after all workers have left.
func TestWithoutFleet(t *testing.T) {
	c := newCluster(t)
	kill := c.startProcess()
	id := c.submit(stepsParams{Partitions: 100}, client.SubmitOptions{})
	c.letEnd(id)
	kill()
	p, err := page.New(page.Config{Cluster: c.cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	server := httptest.NewServer(p.Handler())
	defer server.Close()
	api := server.URL + "/api/v1/"
	var about clusterAnswer
	if got := c.get(api+"cluster", &about); got != 200 || about.Leader != nil {
		t.Errorf("cluster: got %d, %+v", got, about)
	}
	var list jobsAnswer
	if got := c.get(api+"jobs", &list); got != 200 || len(list.Jobs) != 1 || list.Jobs[0].State != "completed" || list.Jobs[0].Needed != 100 {
		t.Errorf("jobs: got %d, %+v", got, list)
	}
	var s samplesAnswer
	if got := c.get(api+"jobs/"+id+"/samples", &s); got != 200 || s.Partitions != 100 || len(s.Samples) < 2 {
		t.Errorf("samples: got %d, %+v", got, s)
	}
}

// TestEvents expects the first events of a stream, compressed or not.
func TestEvents(t *testing.T) {
	c := newCluster(t)
	api := c.start(1, nil) + "/api/v1/"
	id := c.submit(stepsParams{Partitions: 10}, client.SubmitOptions{})
	c.letEnd(id)
	response, err := http.Get(api + "events?job=" + id) // the client asks for compression and decompresses
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	want := map[string]bool{"cluster": true, "workers": true, "jobs": true, "job": true, "samples": true, "terms": true, "throughput": true}
	for lines := bufio.NewScanner(response.Body); len(want) > 0 && lines.Scan(); {
		if event, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			if strings.HasSuffix(event, "-error") {
				t.Errorf("event %s", event)
			}
			delete(want, event)
		}
	}
	if len(want) > 0 {
		t.Errorf("no event of %v", want)
	}
}

// TestActions checks that actions require the token and take effect.
func TestActions(t *testing.T) {
	c := newCluster(t)
	const token = "a token of sixteen bytes or more"
	api := c.start(1, func(cfg *worker.Config) { cfg.HTTPToken = token }) + "/api/v1/"
	id := c.submit(stepsParams{Partitions: 10, Hold: 1}, client.SubmitOptions{})
	cancel := fmt.Sprintf("%sjobs/%s/cancel", api, id)
	if got := c.do("POST", cancel, "another token", &errorAnswer{}); got != http.StatusUnauthorized {
		t.Errorf("with another token: got %d", got)
	}
	var done struct{ Done bool }
	if got := c.do("POST", cancel, token, &done); got != 200 || !done.Done {
		t.Errorf("cancel: got %d, %+v", got, done)
	}
	if got := c.do("POST", api+"jobs/0000000000000000/cancel", token, &errorAnswer{}); got != http.StatusNotFound {
		t.Errorf("cancel a job that is not there: got %d", got)
	}
	var list poisonedAnswer
	name := c.poison(api)
	if got := c.do("POST", api+"poisoned/"+name+"/requeue", token, &done); got != 200 || !done.Done {
		t.Errorf("requeue: got %d, %+v", got, done)
	}
	if got := c.do("POST", api+"poisoned/unknown/requeue", token, &errorAnswer{}); got != http.StatusNotFound {
		t.Errorf("requeue an entry that is not there: got %d", got)
	}
	c.until("the entry is back", func() bool { return c.get(api+"poisoned", &list) == 200 && len(list.Poisoned) == 1 }) // the message is poisoned again
	if got := c.do("POST", api+"leader/step-down", token, &done); got != 200 {
		t.Errorf("step down: got %d", got)
	}
}
