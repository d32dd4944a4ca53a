"use strict";
// What went wrong with the opened job: attempts that failed, deaths of workers, and all events.

// longText shows a text with its lines. All after the first line is folded.
function longText(text, className) {
	const [first, ...rest] = text.split("\n");
	const shown = el("p", { className }, first);
	return rest.length ? [shown, el("details", {}, el("summary", {}, plural("more line", rest.length)), el("p", { className: "n lines" }, rest.join("\n")))] : [shown];
}

const timeOf = at => el("time", { title: at.slice(0, 10) }, at.slice(11, 19));

// attemptText names the partition and the attempt of an event.
const attemptText = e => [e.partition === null ? "" : "partition " + count(e.partition), e.attempt ? "attempt " + count(e.attempt) : ""].filter(Boolean).join(", ");

// listed shows events, each with its facts in a line and its text below.
function listed(heading, events, facts) {
	if (!events.length) return [];
	return [el("h3", {}, heading), ...events.map(e => el("div", { className: "fail" },
		el("p", { className: "q s" }, timeOf(e.at), ...facts(e).filter(Boolean).map(fact => ", " + fact)), ...longText(e.text, "n")))];
}

// deathsOf returns the deaths of workers and leaders that the job has seen, the last one first.
function deathsOf(job, events) {
	const terms = view.terms?.terms || [];
	const leaders = terms.flatMap((term, i) => CRASHES.includes(term.cause) && terms[i + 1] && job.epochs.slice(1).includes(term.epoch)
		? [{ at: term.at, worker: terms[i + 1].worker, host: "", text: `Leader of epoch ${terms[i + 1].epoch} died: ${CAUSES[term.cause]}` }] : []);
	return [...events.deaths, ...leaders].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

// groupOf shows attempts that failed with the same error.
function groupOf(e) {
	const group = el("div", { className: "fail" }, el("p", {}, el("span", { className: "st failed" }, icon("failed"), plural("failed attempt", e.count))),
		...longText(e.error, "n"), el("p", { className: "q s" }, `For example partition ${count(e.partition)}. To run it again in one process:`));
	if (view.job?.again) group.append(command(view.job.again + e.partition, "the command that runs the partition again"));
	return group;
}

function skippedText(j) {
	return plural("partition", j.all_skipped) + " skipped: " + j.skipped.map(count).join(", ") + (j.all_skipped > j.skipped.length ? " …" : "");
}

let drawnFailures = "";

function drawFailures() {
	const from = isLive() ? view.map : view.job, j = view.job, events = view.events || { failures: [], deaths: [], events: [], all: 0, cut: false };
	const deaths = deathsOf(j, events);
	const answer = JSON.stringify([j.id, from.errors, from.other_errors, j.again, j.all_skipped, j.state, events, deaths, view["events-error"]]);
	if (answer === drawnFailures) return;
	drawnFailures = answer;
	const parts = from.errors.map(groupOf);
	if (from.other_errors) parts.push(el("p", { className: "q" }, plural("failed attempt", from.other_errors) + " with other errors."));
	if (j.all_skipped) parts.push(el("p", {}, skippedText(j)));
	parts.push(...listed("Attempts that failed", events.failures, e => [attemptText(e), e.worker && "worker " + e.worker]));
	parts.push(...listed("Deaths of workers", deaths, e => ["worker " + e.worker, e.host && "host " + e.host]));
	if (!parts.length) parts.push(el("p", { className: "q" }, j.state === "failed" ? "No partition has failed: see the error of the job above." : "No partition has failed."));
	$("fails").replaceChildren(...parts);
	drawEvents(events);
}

function drawEvents(events) {
	$("eventlist").hidden = !events.events.length && !view["events-error"];
	setText($("eventcount"), events.all > events.events.length ? `the last ${count(events.events.length)} of ${count(events.all)}` : plural("event", events.all));
	const rows = events.events.map(e => el("tr", {}, el("td", { className: "n q" }, timeOf(e.at)), el("td", { className: "n who" }, e.worker || "–"), el("td", { className: "text" }, e.text.split("\n")[0])));
	const table = $("et");
	table.tBodies[0].replaceChildren(...rows);
	addRoles(table);
	setText($("eventnote"), view["events-error"] ? "The events could not be read: " + view["events-error"] : events.cut ? "Earlier events are not kept." : "");
}

// reasonOf returns why a job has failed or does not advance.
const reasonOf = () => view["job-error"] || (ENDED.includes(view.job?.state) ? view.job.error : view.map?.trouble) || "";

// drawReason shows why the job has failed or does not advance, above everything else.
function drawReason() {
	const text = reasonOf(), box = $("trouble");
	box.hidden = !text;
	if (box.dataset.drawn === text) return;
	box.dataset.drawn = text;
	const failed = view.job?.state === "failed" && !view["job-error"];
	const [first, ...more] = longText(text, "n");
	box.replaceChildren(failed ? el("p", {}, el("span", { className: "st failed" }, icon("failed"), "Failed")) : "", first, ...more);
}

on("events events-error terms", () => { if (view.opened && view.job) drawFailures(); });
