package page_test

import (
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/worker"
)

type journalAnswer struct {
	Failures, Deaths []struct {
		Worker    string
		Partition *uint64
		Attempt   int
		Host      string
		Text      string
	}
	All int
}

// TestOverview looks for what needs a person: a failed job with its reason, and a job that waits. It finds, filters and
// retries jobs, and follows links.
func TestOverview(t *testing.T) {
	b := newBrowser(t)
	c := newCluster(t)
	const token = "a token of sixteen bytes or more"
	url := c.start(2, func(cfg *worker.Config) { cfg.HTTPToken = token })
	failed := c.submit(stepsParams{Partitions: 5, Fail: 3}, client.SubmitOptions{MaxAttempts: 1, Name: "nightly-1", Labels: map[string]string{"team": "ads"}})
	c.until("the job fails", func() bool {
		s, err := c.client.Status(t.Context(), failed)
		return err == nil && s.State == client.Failed
	})
	held := c.submit(stepsParams{Partitions: 2, Hold: 1}, client.SubmitOptions{})
	waits := c.submit(stepsParams{Partitions: 5}, client.SubmitOptions{After: []string{held}})
	b.do(chromedp.EmulateViewport(1400, 900))
	b.open(url + "/?light")
	b.until(`view.jobs?.jobs.length === 3 && view.cluster?.actions && $("ft").rows.length === 2 && /partition 3 has no <input>/.test($("ft").innerText) && /nightly-1 team=ads/.test($("ft").innerText)`)
	if look[string](b, `view.opened`) != "" {
		t.Error("the page has opened a job although another one has failed")
	}
	b.until(`$("jt").innerText.includes("it runs after ` + held + `")`)

	rows := func(want string) {
		t.Helper()
		b.until(`[...$("jt").tBodies[0].rows].map(r => r.querySelector(".id").textContent).join() === "` + want + `"`)
	}
	look[any](b, `$("find").focus(), 0`)
	b.do(chromedp.KeyEvent("TEAM=a"))
	rows(failed)
	if link := look[string](b, `location.search`); link != "?light&show=all&find=TEAM%3Da" {
		t.Errorf("link to what was found: got %q", link)
	}
	b.do(chromedp.Reload())
	rows(failed)
	look[any](b, `list({find: ""}), 0`)
	rows(waits + "," + held + "," + failed)
	look[any](b, `[...document.querySelectorAll("#filter button")].find(b => b.textContent === "Failed").click(), 0`)
	rows(failed)

	// The link of a job stays, and the buttons of the browser go back and forward.
	look[any](b, `$("jt").querySelector("a").click(), 0`)
	b.until(`view.job?.id === "` + failed + `" && location.search === "?light&job=` + failed + `" && document.title.includes("nightly-1")`)
	b.until(`view.events?.failures.length === 1 && /partition 3, attempt 1, worker /.test($("fails").innerText) && /partition 3 has no <input>/.test($("trouble").innerText)`)
	if !look[bool](b, `/Failed attempts\s+1\s+the job has failed/.test($("jobstats").innerText)`) {
		t.Errorf("figures of the failed job: got %q", look[string](b, `$("jobstats").innerText`))
	}
	look[any](b, `window.history.back(), 0`)
	b.until(`view.opened === "" && view.show === "failed" && $("jt").checkVisibility()`)
	rows(failed)
	look[any](b, `window.history.forward(), 0`)
	b.until(`view.job?.id === "` + failed + `"`)

	// A retried job is no longer among those that need a person.
	look[any](b, `$("retry").click(), $("token").value = "`+token+`", $("askyes").click(), 0`)
	b.until(`view.opened !== "` + failed + `" && view.job?.id === view.opened`)
	look[any](b, `openOverview(), 0`)
	b.until(`view.jobs.failed.length === 1 && view.jobs.failed[0].id !== "` + failed + `"`)
	look[any](b, `document.querySelector("#ft [data-key^=resubmit]").click(), $("token").value = "`+token+`", $("askyes").click(), 0`)
	b.until(`view.job?.id === view.opened && view.job.job === "steps"`)
	b.wantNoErrors()
	c.letEnd(waits)
}

// TestDeaths kills a worker that runs a partition. The job and the overview say when it died, where, and what it ran, and
// its work is reassigned and not retried.
func TestDeaths(t *testing.T) {
	b := newBrowser(t)
	c := newCluster(t)
	url := c.start(1, func(cfg *worker.Config) { cfg.ID = "w1" })
	if _, err := c.client.Leader(t.Context()); err != nil {
		t.Fatal(err)
	}
	kill := c.startProcess()
	id := c.submit(stepsParams{Partitions: 100, Hold: 1}, client.SubmitOptions{})
	b.do(chromedp.EmulateViewport(1400, 900))
	b.open(url + "/?light&job=" + id)
	b.until(`view.workers?.workers.length === 2 && view.workers.workers.every(w => w.running?.some(r => r.hi > r.lo && r.job === "` + id + `"))`)
	b.until(`[...$("wt").tBodies[0].rows].every(r => /steps [0-9,]+/.test(r.querySelector(".runs").innerText) && r.querySelector(".made").innerText.includes("process"))`)
	died := look[string](b, `view.workers.workers.find(w => w.id !== "w1").id`)
	kill()
	b.until(`view.events?.deaths.length === 1 && /worker ` + regexp.QuoteMeta(died) + `, host /.test($("fails").innerText) && /assigned to it: partition/.test($("fails").innerText)`)
	b.until(`view.map?.reassigned > 0 && view.map.total.retrying === 0 && /Reassigned after a death/.test($("legend").innerText)`)
	look[any](b, `openOverview(), 0`)
	b.until(`/It ran partition.* of job ` + id + `/.test($("gt").innerText) && $("gt").innerText.includes("` + died + `")`)
	var journal journalAnswer
	if got := c.get(url+"/api/v1/jobs/"+id+"/events", &journal); got != 200 || len(journal.Deaths) != 1 || journal.Deaths[0].Worker != died || journal.Deaths[0].Host == "" {
		t.Errorf("events: got %d, %+v", got, journal)
	}
	c.letEnd(id)

	// A completed job has nothing left, also if the last checkpoint is older than its end.
	look[any](b, `openJob("`+id+`"), 0`)
	b.until(`view.job?.state === "completed" && view.samples && /Mapped\s+100\.0 %/.test($("jobstats").innerText) && [...$("legend").children].some(e => /^Waiting\s*0$/.test(e.innerText))`)
	b.until(`view.job.durations && $("slow").tBodies[0].rows.length > 0 && !$("durations").hidden`)
	look[any](b, `view.samples.samples.at(-1).done = 98, view.samples.samples.at(-1).failing = 0, drawMoment(), 0`)
	if text := look[string](b, `$("legend").innerText`); !regexp.MustCompile(`Waiting\s*0`).MatchString(text) {
		t.Errorf("a completed job: %q", text)
	}
	b.wantNoErrors()
}
