package page_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/worker"
)

// TestViews views a job of 10^9 partitions with failures while it runs, in windows of two widths,
// light and dark, and then a completed job, in the page and in a saved file.
func TestViews(t *testing.T) {
	b := newBrowser(t)
	c := newCluster(t)
	const token = "a token of sixteen bytes or more"
	url := c.start(4, func(cfg *worker.Config) { cfg.HTTPToken = token })
	c.start(2, nil)
	done := c.submit(stepsParams{Partitions: 300, Sleep: time.Millisecond}, client.SubmitOptions{})
	if _, err := c.client.Wait(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	id := c.submit(stepsParams{Partitions: 1_000_000_000, Sleep: time.Millisecond, Fail: 40}, client.SubmitOptions{MaxAttempts: 1000})

	poisoned := c.poison(url + "/api/v1/")

	b.do(chromedp.EmulateViewport(1400, 900))
	b.open(url + "/?light&job=" + id)
	b.until(`view.cluster && view.cluster.totals && view.workers && view.terms && view.throughput && view.jobs && view.job && view.samples`)
	b.until(`cells && view.map.total.durable > 100 && document.querySelector("#fails .fail")`)
	b.until(`document.querySelectorAll("#jt tbody tr").length === 2 && document.querySelectorAll("#wt tbody tr").length === 2`)
	b.until(`document.querySelector('[data-key="poisoned-` + poisoned + `"]')`)
	b.until(`[...strips.values()].every(s => s.lanes.filter(l => l.length).length > 1)`)
	if sum := look[float64](b, `shown().counts.reduce((a, b) => a + b)`); sum != 1e9 {
		t.Errorf("the states have %.0f partitions, want 10^9", sum)
	}
	if all := look[float64](b, `cells.all.cells.length * cells.all.step`); all < 1e9 {
		t.Errorf("the map has %.0f partitions, want 10^9", all)
	}
	b.logPaints()
	b.until(`cells && view.map.total.durable > 100 && document.querySelector("#fails .fail")`)
	for _, scheme := range []string{"light", "dark"} {
		look[any](b, `setTheme("`+scheme+`"); drawAgain(); 0`)
		for _, width := range []int{1400, 360} {
			b.at(width)
			b.wantAccessible(fmt.Sprintf("%s at %d pixels", scheme, width))
			b.shot(fmt.Sprintf("job-%s-%d", scheme, width))
		}
	}
	b.at(1400)
	for _, canvas := range []string{"terms", "tree", "all", "cells", "rate"} {
		if colours := look[int](b, `(() => { const c = $("`+canvas+`"), d = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer); return new Set(d).size })()`); colours < 3 {
			t.Errorf("canvas %s has %d colours", canvas, colours)
		}
	}
	if text := look[string](b, `$("fails").textContent`); text == "" || look[int](b, `document.querySelectorAll("#fails input").length`) > 0 {
		t.Errorf("failures: %q", text)
	}

	// The buttons move the detail view, and the pointer shows information about a cell.
	look[any](b, `$("za").click(); 0`)
	b.until(`level === topLevel() && cells.detail.step === 2 ** level`)
	look[any](b, `$("zx").click(); 0`)
	b.until(`!following && cells.detail && cells.detail.cells.some(c => c[3] || c[4])`)
	look[any](b, `$("zf").click(); 0`)
	b.until(`following`)

	// An action needs the token.
	requeue := func(token, until string) {
		look[any](b, `document.querySelector('[data-key="poisoned-`+poisoned+`"]').click(); $("token").value = "`+token+`"; $("askyes").click(); 0`)
		b.until(until)
	}
	requeue("another token", `$("asked").textContent.includes("token")`)
	b.wantAccessible("a dialog")
	b.shot("dialog-dark-1400")
	look[any](b, `$("askno").click(); 0`)
	requeue(token, `!$("ask").open`)
	b.forget("401")

	// The slider replays the job. The button Now returns to the present.
	look[any](b, `$("at").value = 1; $("at").dispatchEvent(new Event("input")); 0`)
	b.until(`replay !== null && $("detail").hidden && !$("now").disabled`)
	look[any](b, `$("now").click(); 0`)
	b.until(`replay === null && !$("detail").hidden`)

	// An opened job is shown alone. The keyboard reaches the list of jobs through the skip link, and opens a job.
	if look[bool](b, `$("jt").checkVisibility() || $("cluster").checkVisibility()`) {
		t.Error("the list of jobs is shown beside the opened job")
	}
	look[any](b, `$("back").click(); 0`)
	b.until(`location.search === "?light&show=all" && $("jt").checkVisibility() && !$("job").checkVisibility()`)
	b.wantAccessible("the overview")
	b.shot("overview-dark-1400")
	look[any](b, `document.querySelector('[data-key="job-`+done+`"]').focus(); 0`)
	b.do(chromedp.KeyEvent("\r"))
	b.until(`view.opened === "` + done + `" && view.job && view.job.id === view.opened && $("result").textContent.includes(view.job.sha256)`)
	b.until(`view.samples && view.samples.samples.length > 1`)
	b.wantAccessible("a completed job")
	b.shot("completed-dark-1400")

	// The saved file opens without a server. The leader has poisoned the message again by then.
	var list poisonedAnswer
	c.until("the message is poisoned again", func() bool { return c.get(url+"/api/v1/poisoned", &list) == 200 && len(list.Poisoned) == 1 })
	var saved string
	if got := c.get(url+"/api/v1/save?job="+done, &saved); got != 200 {
		t.Fatalf("save: got %d: %.300s", got, saved)
	}
	file := filepath.Join(t.TempDir(), "saved.html")
	if err := os.WriteFile(file, []byte(saved), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open("file://" + file + "?light")
	if text := look[string](b, `$("params").textContent`); !strings.Contains(text, "4611686018427387904") {
		t.Errorf("parameters have lost digits: %s", text)
	}
	b.until(`$("pt").textContent.includes("bellwether requeue ` + poisoned + `")`)
	b.until(`view.saved && view.job.id === "` + done + `" && $("result").textContent.includes(view.job.sha256)`)
	look[any](b, `$("at").value = 1; $("at").dispatchEvent(new Event("input")); 0`)
	b.until(`replay !== null`)
	b.wantAccessible("a saved page")
	b.shot("saved-light-1400")
	b.wantNoErrors()
	if err := c.client.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

// TestMissingJob opens links to jobs that do not exist. The page says so, shows no empty figures, and shows the cluster.
func TestMissingJob(t *testing.T) {
	c := newCluster(t)
	b := newBrowser(t)
	url := c.start(1, nil)
	for _, id := range []string{"0000000000000000", "x"} {
		b.open(url + "/?job=" + id)
		b.until(`view.cluster && view.jobs && $("trouble").innerText === 'No job has the ID "` + id + `": the link is wrong, or the job was removed.'`)
		if !look[bool](b, `$("jobstats").checkVisibility() === false && $("trouble").checkVisibility() && $("h-job").innerText === "Job" && view.problem === ""`) {
			t.Errorf("job %s: the page shows %q", id, look[string](b, `document.body.innerText`))
		}
	}
	id := c.submit(stepsParams{Partitions: 10}, client.SubmitOptions{})
	c.letEnd(id)
	look[any](b, `openJob("`+id+`"); 0`)
	b.until(`view.job && $("jobstats").checkVisibility() && $("trouble").hidden`)
	b.wantNoErrors()
}

// TestResults views results and errors that are long, in windows of three widths.
func TestResults(t *testing.T) {
	b := newBrowser(t)
	c := newCluster(t)
	url := c.start(1, nil)
	id := c.submit(stepsParams{Partitions: 30}, client.SubmitOptions{})
	if _, err := c.client.Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	b.open(url + "/?light&job=" + id)
	b.until(`view.job?.state === "completed" && $("rt") && view.samples?.samples.at(-1)?.done === 30`)
	long := strings.Repeat("x", 2000)
	look[any](b, `events?.close(), events = null, connect = () => {}, window.completed = view.job, window.firstSamples = view.samples, 0`)
	show := func(members string) {
		look[any](b, `take("samples", firstSamples), take("job", {...completed, `+members+`}); 0`)
	}
	for name, test := range map[string]struct{ job, want string }{
		"rows": {
			`sha256: "1", result: {columns: [{name: "key", type: "text"}, {name: "sum(x)", type: "float"}], rows: Array.from({length: 1000}, (_, i) => ["` + long + `" + i, i]), rows_read: 9}`,
			`document.querySelectorAll(".rows tbody tr").length === 200 && /The first 200 of 1,000 rows/.test($("result").innerText) && $("result").querySelector("thead").innerText.trim().split(/\s+/).join() === "key,sum(x)" && /rows_read\s+9/.test($("result").innerText)`,
		},
		"no rows":     {`sha256: "2", result: {columns: ["key"], rows: []}`, `$("rt").rows.length === 2`},
		"long member": {`sha256: "3", result: {text: "` + long + `"}`, `$("rt").rows.length === 1`},
		"error": {
			`state: "failed", result: null, error: "Plan failed: ` + long + `\nat one\nat two"`,
			`$("trouble").querySelector("details").innerText.trim() === "2 more lines" && $("result").innerText === "The job has failed, so it has no result." && /see the error of the job above/.test($("fails").innerText)`,
		},
		"rounds": {
			`sha256: "5", result: 1, max_rounds: 5, round: 3, measure: "loss", finished_rounds: [3, 2, 1].map((value, i) => ({round: i + 1, value, seconds: 1}))}); ` +
				`take("samples", {...view.samples, samples: [{...view.samples.samples.at(-1), done: 90, executed: 92}]`,
			`/Mapped\s+100/.test($("jobstats").innerText) && /30 of 30/.test($("jobstats").innerText) && /Executed again\s+2/.test($("jobstats").innerText) &&
				/Round 3 of at most 5, loss 1 after round 3/.test($("estimatetext").innerText) && !$("estimate").hidden`,
		},
		"stopped": {
			`state: "completed", sha256: "4", result: 1, partitions: 1e7, stopped: {partitions: 30, rung: 9}`,
			`/Mapped\s+100/.test($("jobstats").innerText)`,
		},
	} {
		show(test.job)
		if !look[bool](b, test.want) {
			t.Errorf("%s: got %s, %s", name, look[string](b, `$("result").innerText.slice(0, 500)`), look[string](b, `$("fails").innerText + $("jobstats").innerText`))
		}
		for _, width := range []int{1400, 800, 360} {
			b.at(width)
			if width != 800 {
				b.wantAccessible(fmt.Sprintf("%s at %d pixels", name, width))
			}
			b.shot(fmt.Sprintf("result-%s-%d", strings.ReplaceAll(name, " ", "-"), width))
		}
	}
	b.wantNoErrors()
}

// TestLargeView views a job of large partials during its last merge, in windows of two widths, and
// after its end.
func TestLargeView(t *testing.T) {
	b := newBrowser(t)
	c := newCluster(t)
	url := c.start(1, func(cfg *worker.Config) { cfg.ID = "w1" })
	c.start(1, func(cfg *worker.Config) { cfg.ID = "w2" })
	id := c.submitBlocks(16)
	b.do(chromedp.EmulateViewport(1400, 900))
	b.open(url + "/?light&job=" + id)
	b.until(`view.map && view.map.merges.some(m => m.node === "4/0") && view.map.left_ms !== null`)
	if text := look[string](b, `$("mt").tBodies[0].innerText`); !regexp.MustCompile(`^4/0\s+w[12]\s+586 KiB\s+[0-9.]+ s$`).MatchString(strings.TrimSpace(text)) {
		t.Errorf("merges under way: got %q", text)
	}
	for _, want := range []string{`Partials held\s+[0-9.]+ [KM]iB`, `Bytes merged\s+[0-9.]+ [KM]iB`, `Merge rate\s+[0-9.]+ ([KM]i)?B/s`, `Merges under way\s+1\s+on 1 worker`} {
		if text := look[string](b, `$("largestats").innerText`); !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("figures of large partials: got %q, want %s", text, want)
		}
	}
	if text := look[string](b, `$("jobstats").innerText`); !regexp.MustCompile(`Time left\s+[0-9].*\s+until all is merged`).MatchString(text) {
		t.Errorf("figures of the job: got %q", text)
	}
	for _, width := range []int{1400, 360} {
		b.at(width)
		b.wantAccessible(fmt.Sprintf("large partials at %d pixels", width))
		b.shot(fmt.Sprintf("large-light-%d", width))
	}
	c.letEnd(id)
	const hidden = `$("largestats").hidden && $("mt").hidden && $("h-merges").hidden`
	b.until(`view.job.state === "completed" && ` + hidden)

	// The stream may send the end of a job without new samples.
	look[any](b, `window.ended = view.job; take("job", {...ended, state: "running"}); take("map", view.map); 0`)
	b.until(`!$("largestats").hidden && !$("mt").hidden && !$("h-merges").hidden`)
	look[any](b, `take("job", ended); 0`)
	b.until(hidden)
	b.wantNoErrors()
}

// TestLeaderKilled kills the leader's process while the page is open.
func TestLeaderKilled(t *testing.T) {
	b := newBrowser(t)
	c := newCluster(t)
	kill := c.startProcess()
	if _, err := c.client.Leader(t.Context()); err != nil {
		t.Fatal(err)
	}
	url := c.start(2, nil)
	id := c.submit(stepsParams{Partitions: 1_000_000, Sleep: time.Millisecond}, client.SubmitOptions{})
	b.do(chromedp.EmulateViewport(1400, 900))
	b.open(url)
	b.until(`view.opened === "` + id + `" && view.map && view.map.done > 10 && view.cluster.totals.workers === 2`)
	if link := look[string](b, `location.search`); link != "?job="+id {
		t.Errorf("the page has opened the job, and its link is %q", link)
	}
	look[any](b, `window.loaded = 1; window.epochs = []; on("cluster", () => epochs.push([performance.now(), view.cluster.leader && view.cluster.leader.epoch]));
		on("terms", () => { if (view.terms.terms[0].epoch === 2) window.phases ||= performance.now(); }); 0`)
	began := look[float64](b, `performance.now()`)
	kill()
	b.until(`view.cluster.leader && view.cluster.leader.epoch === 2 && view.terms.terms[0].epoch === 2 && view.terms.terms[0].first_assignment_ms !== null`)
	t.Logf("the next leader was shown after %.0f ms, its phases after %.0f ms", look[float64](b, `epochs.find(([, epoch]) => epoch === 2)[0]`)-began, look[float64](b, `phases`)-began)
	b.until(`document.querySelector("#failovers summary").textContent.includes("1 → 2") && view.map.done > 20`)
	look[any](b, `document.querySelector("#failovers summary").click(); 0`)
	b.until(`document.querySelectorAll("#failovers details[open] .fall dt").length >= 5`)
	b.at(1400)
	b.shot("failover-light-1400")
	b.at(360)
	b.wantAccessible("a failover")
	b.shot("failover-light-360")
	if look[any](b, `window.loaded`) == nil {
		t.Error("the page was loaded again")
	}
	b.wantNoErrors()
	if err := c.client.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}
