"use strict";
// The list of jobs.

const rowCache = new WeakMap(); // table body → Map of key → [item as JSON, row]

// fillRows shows a row for each item. A row whose item has not changed stays, and a focused
// button keeps the focus.
function fillRows(body, items, keyOf, rowOf) {
	const old = rowCache.get(body) || new Map(), rows = new Map(), focused = document.activeElement?.dataset.key;
	for (const item of items) {
		const key = keyOf(item), json = JSON.stringify(item), known = old.get(key);
		const row = known && known[0] === json ? known[1] : rowOf(item);
		if (!known || known[1] !== row) addRoles(row);
		rows.set(key, [json, row]);
	}
	rowCache.set(body, rows);
	const list = [...rows.values()].map(([, row]) => row);
	if (list.length !== body.children.length || list.some((row, i) => row !== body.children[i])) {
		body.replaceChildren(...list);
		if (focused && !document.activeElement?.dataset.key) body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
	}
}

const ENDED = ["completed", "failed", "cancelled"];

function jobRow({ job: j, now, current }) {
	const share = j.needed ? j.done / j.needed : 0, ended = ENDED.includes(j.state);
	const fill = el("i"), bar = el("span", { className: "prog", role: "img", ariaLabel: "mapped " + percent(share) }, fill);
	fill.style.width = share * 100 + "%";
	if (j.state === "completed") {
		const merged = el("i");
		merged.style.width = "100%";
		bar.append(merged);
	}
	const name = el("button", { className: "text" }, `${j.job || "damaged"} ${j.version}`);
	name.dataset.key = "job-" + j.id;
	name.onclick = () => openJob(j.id);
	let left = "–";
	if (ended && j.started) left = (j.state === "completed" ? "took " : "after ") + span((Date.parse(j.finished) - Date.parse(j.started)) / 1000);
	else if (j.state === "running" && j.merges_left) left = plural("merge", j.merges_left) + " left";
	else if (j.rate > 0) left = span((j.needed - j.done) / j.rate);
	const rate = j.rate ? short(j.rate) : "–";
	const row = el("tr", { className: "go", title: j.trouble },
		el("td", {}, name), el("td", { className: "n q id" }, j.id), el("td", { className: "st0" }, state(j.state)), el("td", { className: "n r pri" }, String(j.priority)),
		el("td", { className: "p" }, el("span", { className: "pg" }, bar, el("span", { className: "n" }, j.partitions ? percent(share) : "–"))),
		el("td", { className: "n r rate" + (j.rate ? "" : " nil") }, rate), el("td", { className: "n left" + (left === "–" ? " nil" : "") }, left),
		el("td", { className: "n q at" }, j.submitted ? span(Math.max(0, now - Date.parse(j.submitted)) / 1000) + " ago" : "–"));
	if (current) row.setAttribute("aria-current", "true");
	return row;
}

function drawJobs() {
	const a = view.jobs, minute = Math.floor(view.now / 10000) * 10000;
	fillRows($("jt").tBodies[0], a.jobs.map(job => ({ job, now: minute, current: job.id === view.opened })), item => item.job.id, jobRow);
	$("nojobs").hidden = a.jobs.length > 0;
	$("jt").hidden = !a.jobs.length;
	setText($("jobpage"), view["jobs-error"] ? "The list is not up to date: " + view["jobs-error"] : a.jobs.length ? plural("job", a.jobs.length) + ", newest first" : "");
	$("newer").disabled = !view.before.length || Boolean(view.saved);
	$("older").disabled = !a.next || Boolean(view.saved);
	if (!view.saved) {
		choice($("filter"), [["all", "All", count(a.all)], ["active", "Not ended"], ["ended", "Ended"]], view.show, show => {
			view.show = show;
			view.before = [];
			connect();
		});
	}
	// A page with a running job opens it, so that there is something to see.
	if (!view.opened && !view.saved && !closedByUser) {
		const running = a.jobs.find(j => j.state === "running");
		if (running) openJob(running.id, true);
	}
}

let closedByUser = false;

function setUpJobs() {
	$("newer").onclick = () => { view.before.pop(); connect(); };
	$("older").onclick = () => { view.before.push(view.jobs.next); connect(); };
}

on("jobs jobs-error", () => { if (view.jobs) drawJobs(); });
