package page_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/worker"
)

// recordTexts is JavaScript that records where the page draws texts on canvases, in texts.
const recordTexts = `window.texts = new Map();
	const drawn = { surface, put };
	surface = (canvas, height) => { texts.set(canvas, []); return drawn.surface(canvas, height); };
	put = (g, text, x, y, options = {}) => {
		drawn.put(g, text, x, y, options);
		const width = g.measureText(text).width, left = options.align === "right" ? x - width : options.align === "center" ? x - width / 2 : x;
		texts.get(g.canvas)?.push({ text, left, right: left + width, top: y - 5, bottom: y + 5 });
	};`

// findOverlaps is JavaScript that returns pairs of texts that overlap, and texts that a canvas cuts off. A text that
// is folded, or cut by a box around it, counts only as far as it is shown.
const findOverlaps = `(() => {
	const overlaps = list => {
		const found = [];
		list.sort((a, b) => a.top - b.top);
		list.forEach((a, i) => {
			for (let j = i + 1; j < list.length && list[j].top < a.bottom - 2; j++) {
				const b = list[j];
				if (a.node !== b.node && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1) found.push(a.text.slice(0, 60) + " | " + b.text.slice(0, 60));
			}
		});
		return found;
	};
	const clipped = (box, element) => {
		for (let e = element; e && e !== document.body; e = e.parentElement) {
			const style = getComputedStyle(e);
			if (style.overflowX === "visible" && style.overflowY === "visible") continue;
			const edge = e.getBoundingClientRect();
			box.left = Math.max(box.left, edge.left); box.right = Math.min(box.right, edge.right);
			box.top = Math.max(box.top, edge.top); box.bottom = Math.min(box.bottom, edge.bottom);
		}
		return box;
	};
	scrollTo(0, 0);
	const list = [], walker = document.createTreeWalker(document.querySelector("dialog[open]") || document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
	for (let node; node = walker.nextNode();) {
		const element = node.parentElement;
		if (!node.data.trim() || !element.checkVisibility() || element.closest(".sr, .skip, script, option, #tip")) continue;
		if (getComputedStyle(element.closest("thead") || element).clipPath !== "none") continue; // headings of tables in a narrow window are for screen readers
		range.selectNodeContents(node);
		for (const { left, right, top, bottom } of range.getClientRects()) {
			const box = clipped({ node, text: node.data.trim(), left, right, top, bottom }, element);
			if (box.right - box.left > 1 && box.bottom - box.top > 1) list.push(box);
		}
	}
	const found = overlaps(list).map(pair => "text: " + pair);
	for (const [canvas, drawn] of texts) {
		if (!canvas.isConnected || !canvas.checkVisibility()) continue;
		for (const { text, left, right } of drawn) if (left < -1 || right > canvas.clientWidth + 1) found.push("canvas " + canvas.id + " cuts " + text);
		found.push(...overlaps(drawn.map(text => ({ ...text, node: text }))).map(pair => "canvas " + canvas.id + ": " + pair));
	}
	return JSON.stringify([...new Set(found)].slice(0, 12));
})()`

// wantTidy checks the page in windows of three widths: no text overlaps another, and the document is not wider than its
// window.
func (b *browser) wantTidy(view string) {
	b.t.Helper()
	for _, width := range []int{1400, 800, 360} {
		b.at(width)
		look[any](b, `drawAgain(); 0`)
		var found []string
		if err := json.Unmarshal([]byte(look[string](b, findOverlaps)), &found); err != nil {
			b.t.Fatal(err)
		}
		for _, overlap := range found {
			b.t.Errorf("%s at %d pixels: %s", view, width, overlap)
		}
		b.shot(fmt.Sprintf("tidy-%s-%d", strings.ReplaceAll(view, " ", "-"), width))
	}
	b.at(1400)
}

// longValues is JavaScript that gives the answers at hand the longest values that they may have.
const longValues = `(() => {
	const word = n => "w".repeat(n), words = n => "several words ".repeat(n);
	const at = new Date(view.now - 9e4).toISOString(), huge = 2 ** 62;
	const event = (kind, i) => ({ at, source: "event", worker: word(60), host: word(60), partition: huge - i, attempt: 1000, kind, text: "Partition failed: " + word(900) + "\n" + (words(9) + "\n").repeat(30) });
	window.events3 = { failures: [event("failure", 1), event("failure", 2)], deaths: [event("death", 3)], events: Array.from({ length: 50 }, (_, i) => event("", i)), all: 1e6, cut: true };
	const list = view.jobs.jobs.map(j => ({ ...j, name: word(200), labels: { [word(60)]: word(60) }, trouble: word(300), priority: -1000, rate: 1.23456e17, partitions: huge, needed: huge, done: huge / 3 }));
	take("jobs", { ...view.jobs, jobs: list, failed: list.map((j, i) => ({ ...j, state: "failed", finished: at, trouble: i ? words(20) : word(300) })), all: huge, next: "x" });
	const totals = view.cluster.totals;
	take("cluster", { ...view.cluster, actions: true, storage: "Azure Storage", nats_ms: 123456.7, leader: { ...view.cluster.leader, worker: word(60) }, totals: { ...totals, workers: 10000, draining: 1234, silent: 1234, slots: 640000, busy: 640000, lost: 12345, rate: 1e17, planning: 1234, running: 1234, queued: 1234, waiting: 1234,
		versions: [{ version: word(120), workers: 1 }, { version: word(121), workers: 1 }], builds: [{ build: word(100), workers: 1 }, { build: word(101), workers: 1 }] } });
	const running = Array.from({ length: 8 }, (_, i) => ({ number: i, job: list[0].id, again: true, reassigned: false, for_ns: 9e16, slot: i + 1, lo: huge - 9, hi: huge }));
	take("workers", { workers: [1, 2, 3].map(i => ({ ...view.workers.workers[0], id: word(60) + i, host: word(100), pid: 4194304, leader: true, state: "benched: " + words(30), lost: 7, slots: 64, version: word(120), build: word(100), cost: 1e7, spans: 2048, running, usage: { memory: 2 ** 50, cores: 1234.5, items: 1e6, bytes: 2 ** 50, nodes: 1e6, node_bytes: 2 ** 50 } })),
		gone: [1, 2].map(i => ({ id: word(59) + i, host: word(100), pid: 7, cause: "its process has ended or lost its connection", work: word(300), memory: 2 ** 50, for_ns: 9e12 })), next: "x", more: 9900 });
	take("terms", { ...view.terms, terms: [9, 8, 7, 6].map(n => ({ ...view.terms.terms[0], epoch: huge + n, worker: word(60), cause: "handover", at: new Date(view.now - (10 - n) * 7e3).toISOString(), detect_ms: 123456.7, elect_ms: 123456.7, fence_ms: 123456.7, resume_ms: 123456.7, first_assignment_ms: 123456.7, first_result_ms: 123456.7 })) });
	take("poisoned", { poisoned: [{ name: word(64), job: "", reason: word(1000), deliveries: 20, at, requeue: "bellwether requeue " + word(64) }], next: "", more: 12345 });
})(); 0`

// TestTidy gives all views their longest values, in windows of three widths: the overview, a running job and its
// dialog, a failed job, and results.
func TestTidy(t *testing.T) {
	b := newBrowser(t)
	c := newCluster(t)
	url := c.start(2, func(cfg *worker.Config) { cfg.HTTPToken = "a token of sixteen bytes or more" })
	done := c.submit(stepsParams{Partitions: 40, Sleep: time.Millisecond}, client.SubmitOptions{})
	if _, err := c.client.Wait(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	id := c.submit(stepsParams{Partitions: 1_000_000_000, Sleep: time.Millisecond, Fail: 40}, client.SubmitOptions{MaxAttempts: 1000})
	b.do(chromedp.EmulateViewport(1400, 900))
	b.open(url + "/?light&job=" + id)
	b.until(`view.cluster?.totals && view.workers && view.terms && view.throughput && view.jobs && view.job && view.samples && view.events?.failures.length && view.map?.durations && cells && document.querySelector("#fails .fail")`)
	look[any](b, recordTexts+`drawAgain(); 0`)
	b.wantTidy("a running job")
	look[any](b, `events?.close(), events = null, connect = () => {}, window.running = [view.job, view.map, view.samples], 0`)
	look[any](b, longValues)
	look[any](b, `(() => {
		const word = n => "w".repeat(n), huge = 2 ** 62, [job, map, samples] = running;
		window.longJob = { ...job, name: word(200), job: word(60), version: word(30), priority: -1000, max_attempts: 1e6, params: { [word(60)]: word(900), text: "one\ntwo" }, errors: [{ error: word(1000) + "\n" + word(500), count: huge, partition: huge }], other_errors: huge,
			all_skipped: 1e6, skipped: Array.from({ length: 100 }, (_, i) => huge - i * 1e6), again: "bellwether run " + word(900) + " --partition " };
		window.longMap = { ...map, trouble: word(300) + "\n" + word(300), errors: longJob.errors, other_errors: huge, reassigned: huge, held_bytes: 2 ** 60, merged_bytes: 2 ** 60, merge_rate: 2 ** 50, merges: [{ node: "61/4611686018427387904", worker: word(60), bytes: 2 ** 60, for_ms: 9e9 }],
			durations: { counts: Array.from({ length: 32 }, (_, i) => i * 1e15), slowest: [1, 2, 3, 4, 5].map(i => ({ lo: huge - 9, hi: huge, took_ns: 9e15 - i, worker: word(60) })) } };
		const sample = samples.samples.at(-1);
		take("samples", {...samples, samples: [1, 2, 3, 4, 5].map(i => ({...sample, at_ms: 9e8 + i * 1e6, epoch: huge + i * 1e6}))});
		take("job", longJob); take("map", longMap); take("events", events3); $("eventlist").open = true;
		document.querySelectorAll("#job .fail details, #trouble details").forEach(d => { d.open = true; });
		document.querySelectorAll("#failovers details").forEach(d => { d.open = true; });
	})(); 0`)
	b.wantTidy("a long running job")
	look[any](b, `$("cancel").click(); 0`)
	b.wantTidy("a dialog")
	look[any](b, `$("ask").close(); take("job", {...longJob, state: "failed", finished: longJob.started, error: "w".repeat(1000) + "\n" + ("at " + "w".repeat(300) + "\n").repeat(20)}); document.querySelectorAll("#trouble details").forEach(d => { d.open = true; }); 0`)
	if look[bool](b, `/^0$/.test($("jobstats").innerText) || $("result").querySelector(".bad") !== null`) {
		t.Error("the failed job shows no failure, or its error as its result")
	}
	b.wantTidy("a failed job")
	look[any](b, `take("job", {...longJob, state: "completed", finished: longJob.started, sha256: "0".repeat(64), durations: longMap.durations, result: {columns: ["w".repeat(100), "b", "c"], rows: [["w".repeat(2000), 1, "one\ntwo"]], text: "w".repeat(2000) + "\nline", ["w".repeat(100)]: 1}}); 0`)
	if !look[bool](b, `$("rt").querySelector("details summary")?.innerText === "1 more line"`) {
		t.Errorf("a text with lines is not folded: %q", look[string](b, `$("rt").innerText.slice(-300)`))
	}
	b.wantTidy("a completed job")
	look[any](b, `openOverview(), 0`)
	b.wantTidy("an overview")
	b.wantNoErrors()
	if err := c.client.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}
