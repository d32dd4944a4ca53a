"use strict";
// The list of jobs, and above it those that have failed.

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

const firstLine = text => text.split("\n")[0];

// namesOf shows the name and the labels of a job.
function namesOf(j) {
	const names = [j.name, ...Object.entries(j.labels || {}).map(([label, value]) => `${label}=${value}`)].filter(Boolean).join(" ");
	return names ? [el("span", { className: "q s names", title: names }, names)] : [];
}

function jobRow({ job: j, now, current }) {
	const share = j.needed ? j.done / j.needed : 0, ended = ENDED.includes(j.state);
	const fill = el("i"), bar = el("span", { className: "prog", role: "img", ariaLabel: "mapped " + percent(share) }, fill);
	fill.style.width = share * 100 + "%";
	if (j.state === "completed") {
		const merged = el("i");
		merged.style.width = "100%";
		bar.append(merged);
	}
	const name = jobLink(j.id, `${j.job || "damaged"} ${j.version}`);
	name.dataset.key = "job-" + j.id;
	let left = "–";
	if (ended && j.started) left = (j.state === "completed" ? "took " : "after ") + span((Date.parse(j.finished) - Date.parse(j.started)) / 1000);
	else if (j.state === "running" && j.merges_left) left = plural("merge", j.merges_left) + " left";
	else if (j.rate > 0) left = span((j.needed - j.done) / j.rate);
	const rate = j.rate ? short(j.rate) : "–";
	const row = el("tr", { className: "go" },
		el("td", { className: "job" }, name, ...namesOf(j), j.trouble ? el("span", { className: "why", title: j.trouble }, firstLine(j.trouble)) : ""), el("td", { className: "n q id" }, j.id), el("td", { className: "st0" }, state(j.state)), el("td", { className: "n r pri" }, String(j.priority)),
		el("td", { className: "p" }, el("span", { className: "pg" }, bar, el("span", { className: "n" }, j.partitions ? percent(share) : "–"))),
		el("td", { className: "n r rate" + (j.rate ? "" : " nil") }, rate), el("td", { className: "n left" + (left === "–" ? " nil" : "") }, left),
		el("td", { className: "n q at" }, j.submitted ? span(Math.max(0, now - Date.parse(j.submitted)) / 1000) + " ago" : "–"));
	if (current) row.setAttribute("aria-current", "true");
	return row;
}

// failedRow shows a failed job with its reason, and what can be done.
function failedRow({ job: j, now, actions }) {
	const link = jobLink(j.id, `${j.job} ${j.version}`), way = el("td", { className: "way" });
	link.dataset.key = "failed-" + j.id;
	if (actions) {
		for (const [title, action] of [["Retry", "retry"], ["Resubmit", "resubmit"]]) {
			const b = el("button", { ariaLabel: `${title} ${j.id}` }, title);
			b.dataset.key = action + "-" + j.id;
			b.onclick = () => act(`${title} ${j.id}`, `jobs/${j.id}/${action}`);
			way.append(b);
		}
	}
	return el("tr", {}, el("td", { className: "job" }, link, ...namesOf(j)), el("td", { className: "n q id" }, j.id),
		el("td", { className: "n q" }, j.finished ? span(Math.max(0, now - Date.parse(j.finished)) / 1000) + " ago" : "–"), el("td", { className: "reason" }, firstLine(j.trouble)), way);
}

const SHOWS = [["all", "All"], ["active", "Not ended"], ["failed", "Failed"], ["ended", "Ended"]];

// nothingListed says why the list is empty.
function nothingListed() {
	if (view.find) return [`No job ${view.show === "all" ? "" : "of these "}matches “${view.find}”.`];
	if (view.show !== "all") return ["No such jobs."];
	return ["No jobs. Submit one with ", el("code", {}, "bellwether submit JOB -p name=value"), "."];
}

function drawJobs() {
	const a = view.jobs, now = Math.floor(view.now / 10000) * 10000, actions = Boolean(view.cluster?.actions) && !view.saved;
	fillRows($("jt").tBodies[0], a.jobs.map(job => ({ job, now })), item => item.job.id, jobRow);
	fillRows($("ft").tBodies[0], a.failed.map(job => ({ job, now, actions })), item => item.job.id, failedRow);
	$("failed").hidden = !a.failed.length;
	$("nojobs").hidden = a.jobs.length > 0;
	if (!a.jobs.length) $("nojobs").replaceChildren(...nothingListed());
	$("jt").hidden = !a.jobs.length;
	setText($("jobpage"), view["jobs-error"] ? "The list is not up to date: " + view["jobs-error"] : a.jobs.length ? plural("job", a.jobs.length) + ", newest first" : "");
	$("newer").disabled = !view.before.length || Boolean(view.saved);
	$("older").disabled = !a.next || Boolean(view.saved);
	if (!view.saved) choice($("filter"), SHOWS.map(([show, label]) => [show, label, show === "all" ? count(a.all) : ""]), view.show, show => list({ show }));
}

// list changes which jobs the list has.
function list(change) {
	Object.assign(view, change, { before: [] });
	note(false);
	connect();
}

const asked = new URLSearchParams(location.search); // what to show when the page was opened
let looked = false; // the first list of jobs has come

// openOnly opens the only job that has not ended, if the address did not ask for anything and no job has failed.
function openOnly() {
	if (looked) return;
	const running = view.jobs.jobs.filter(j => !ENDED.includes(j.state));
	if (!view.saved && !asked.has("job") && !asked.has("show") && !view.jobs.failed.length && running.length === 1 && running[0].state === "running") {
		openJob(running[0].id);
	}
	looked = true;
}

let typing = 0; // the timer that waits until a person has typed what to find

function setUpJobs() {
	$("newer").onclick = () => { view.before.pop(); connect(); };
	$("older").onclick = () => { view.before.push(view.jobs.next); connect(); };
	$("find").oninput = () => {
		clearTimeout(typing);
		typing = setTimeout(() => list({ find: $("find").value.trim() }), 300);
	};
}

on("jobs jobs-error", () => {
	if (!view.jobs) return;
	drawJobs();
	openOnly();
});
