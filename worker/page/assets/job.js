"use strict";
// The opened job: its figures and its replay.

// replay is the moment of the job's life that the page shows, in milliseconds since the job
// began, or null for now.
let replay = null;
let playing = 0; // the timer of a replay
let progress = []; // [milliseconds since the job began, finished partitions of all rounds], while the page watched

const isLive = () => Boolean(view.map && view.map.partitions && !(view.job && ENDED.includes(view.job.state)));
const partitions = () => view.map?.partitions || view.samples?.partitions || Number(view.job?.partitions) || 0;

// life is how long the job has run, in milliseconds.
function life() {
	const samples = view.samples?.samples || [];
	const last = samples.length ? samples.at(-1).at_ms : 0;
	return isLive() ? Math.max(last, view.map.elapsed_ms) : last;
}

// sampleAt returns the last sample at or before a moment, or null.
function sampleAt(ms) {
	let found = null;
	for (const s of view.samples?.samples || []) if (s.at_ms <= ms) found = s;
	return found;
}

// shown returns the numbers of partitions by state at the shown moment, with the number of
// executions. Storage has only what was durable.
function shown() {
	const n = partitions();
	if (replay === null && isLive()) {
		const { held, computed, durable, retrying, failed } = view.map.total;
		return { counts: [n - held - computed - durable - retrying - failed, held, computed, durable, retrying, failed], done: view.map.done, executed: view.map.executed - (view.map.earlier || 0) };
	}
	const s = sampleAt(replay === null ? Infinity : replay);
	if (!s) return { counts: [n, 0, 0, 0, 0, 0], done: 0, executed: 0 };
	const ended = replay === null && ENDED.includes(view.job?.state); // the last sample may be older than the end
	const failed = ended ? view.job.all_skipped : s.failing, done = ended ? Number(view.job.done) : inRound(s.done);
	return { counts: [n - done, 0, 0, Math.max(0, done - failed), 0, failed], done, executed: s.executed - s.done + done };
}

// inRound returns how many of the finished partitions of all rounds belong to the last of these rounds.
function inRound(done) {
	const n = partitions();
	return view.job?.max_rounds && n ? done % n || Math.min(done, n) : done;
}

// points are the finished partitions of all rounds over the job's life: from checkpoints, and then from
// what the page saw.
function points() {
	const list = [[0, 0], ...(view.samples?.samples || []).map(s => [s.at_ms, s.done])];
	const last = list.at(-1)[0];
	return [...list, ...progress.filter(([at]) => at > last)];
}

// rates returns [from, to, partitions/s] for each interval between points.
function rates() {
	const list = points();
	return list.slice(1).map(([at, done], i) => [list[i][0], at, at > list[i][0] ? Math.max(0, done - list[i][1]) / (at - list[i][0]) * 1000 : 0]);
}

// speed is the mean rate before a moment, with the slowest and fastest in the last minute.
function speed(ms) {
	const recent = rates().filter(([from, to]) => to <= ms + 1 && to > ms - 60000 && to - from > 200);
	if (!recent.length) return { mean: replay === null && view.map?.rate || 0, low: 0, high: 0 };
	let time = 0, done = 0;
	for (const [from, to, rate] of recent) {
		if (to < ms - 20000 && time) continue;
		time += to - from;
		done += rate * (to - from);
	}
	const mean = done / time, busy = recent.map(([, , rate]) => rate).filter(rate => rate > mean / 4);
	return { mean, low: Math.min(mean, ...busy), high: Math.max(mean, ...busy) };
}

// neededPartitions is the number of partitions that the job needs: fewer than it has if a prefix suffices.
const neededPartitions = () => replay === null && view.job?.stopped?.partitions || partitions();

function drawFigures() {
	const n = neededPartitions(), s = shown(), at = replay === null ? life() : replay, v = speed(at), rest = Math.max(0, n - s.done);
	const ended = view.job && ENDED.includes(view.job.state) && replay === null;
	const unfinished = ended && view.job.state !== "completed"; // the last checkpoint may lack what was executed
	const again = unfinished ? Number(view.job.repeated) : Math.max(0, s.executed - s.done);
	const large = replay === null && hasLargePartials();
	let left = large ? ["Time left", view.map.left_ms === null ? "–" : span(view.map.left_ms / 1000), rest ? "until all is mapped" : "until all is merged"]
		: [view.job?.max_rounds ? "Left of the round" : "Time left", rest && v.mean ? span(rest / v.mean) : "–", rest && v.high ? span(rest / v.high) + " – " + span(rest / v.low) : ""];
	if (ended) left = [view.job.state === "completed" ? "Took" : "Ended after", span(life() / 1000), plural("leader", view.job.epochs.length)];
	const merges = replay === null && isLive() && view.map.merges_left;
	const checkpoint = isLive() && replay === null ? view.map.checkpoint_ms === null ? "no checkpoint yet" : "checkpoint " + span(view.map.checkpoint_ms / 1000) + " ago" : "from checkpoints";
	const merged = view.map && replay === null && isLive() ? mergedShare() : n ? s.done / n : 0;
	stats($("jobstats"), [
		["Mapped", n ? percent(s.done / n) : "–", n ? short(s.done) + " of " + short(n) : "not planned"],
		["Merged", n ? percent(merged) : "–", merges ? plural("merge", merges) + " left" : "into the tree's upper nodes"],
		["Durable", n ? percent((s.counts[3] + (isLive() ? 0 : s.counts[5])) / n) : "–", checkpoint],
		ended ? ["Rate", [short(life() ? points().at(-1)[1] / life() * 1000 : 0), small("/s")], "mean"] : ["Rate", [short(v.mean), small("/s")], "20 s mean"],
		left,
		["Executed again", count(again), s.done ? (again / s.done * 100).toFixed(2) + " %" : ""],
		...(view.job?.reuse ? [["Reused", count(view.job.reuse.partitions), view.job.reuse.partitions ? span(view.job.reuse.saved_seconds) + " saved, from " + plural("job", (view.job.reuse.from || []).length) : ""]] : []),
		failedFigure(s),
	]);
	$("legend").replaceChildren(...[3, 2, 1, 0, 4, 5].map(i => {
		const box = el("i", { className: i === 5 ? "x" : i === 4 ? "dot" : "" });
		box.style.background = `var(--${STATES[i]})`;
		const name = i === 0 && view.job?.stopped && replay === null ? "Not needed" : STATE_NAMES[i]; // above the prefix that suffices
		return el("div", {}, el("dt", {}, box, name), el("dd", { className: "n" }, count(s.counts[i])));
	}), replay === null && isLive() && view.map.reassigned ? el("div", {}, el("dt", {}, "Reassigned after a death"), el("dd", { className: "n" }, count(view.map.reassigned))) : "",
	allCells()?.retried.size ? el("div", {}, el("dt", {}, el("i", { className: "again" }), "Ran again"), el("dd", { className: "n" }, "marked")) : "");
	const slider = $("at");
	slider.max = Math.max(1, Math.round(life()));
	slider.value = Math.round(at);
	slider.setAttribute("aria-valuetext", span(at / 1000));
	setText($("attext"), span(at / 1000) + " of " + span(life() / 1000));
	$("now").disabled = replay === null;
	$("play").disabled = !(view.samples?.samples.length > 1);
}

// failedFigure counts the failed attempts of the whole job, so that it does not say none above a job that has failed.
function failedFigure(s) {
	const from = isLive() ? view.map : view.job, ofPartitions = (from?.errors || []).reduce((sum, e) => sum + e.count, from?.other_errors || 0);
	const attempts = Math.max(ofPartitions, view.events?.failures.length || 0); // Plan and Finish fail too
	const now = [s.counts[4] && count(s.counts[4]) + " retrying", s.counts[5] && count(s.counts[5]) + (view.job?.all_skipped ? " skipped" : " waiting")].filter(Boolean).join(", ");
	return ["Failed attempts", count(attempts), now || (view.job?.state === "failed" ? "the job has failed" : attempts ? "none now" : "none")];
}

// hasLargePartials tells whether workers hold large partials of the job now.
const hasLargePartials = () => isLive() && Boolean(view.map.held_bytes || view.map.merged_bytes);

// drawLarge shows the large partials of a job, and the merges of them that workers run.
function drawLarge() {
	const m = view.map, large = replay === null && hasLargePartials();
	for (const id of ["largestats", "h-merges", "mt"]) $(id).hidden = !large;
	if (!large) return;
	stats($("largestats"), [
		["Partials held", bytes(m.held_bytes), "by workers"],
		["Bytes merged", bytes(m.merged_bytes), "since the leader began"],
		["Merge rate", [bytes(Math.round(m.merge_rate)), small("/s")], "last seconds"],
		["Merges under way", count(m.merges.length), m.merges.length ? "on " + plural("worker", new Set(m.merges.map(merge => merge.worker)).size) : "none"],
	]);
	fillRows($("mt").tBodies[0], m.merges.length ? m.merges : [null], merge => merge?.node, mergeRow);
}

function mergeRow(merge) {
	if (!merge) return el("tr", {}, el("td", { className: "q", colSpan: 4 }, "No merge is under way."));
	return el("tr", {}, el("td", { className: "n" }, merge.node), el("td", { className: "n" }, merge.worker),
		el("td", { className: "n r" }, bytes(merge.bytes)), el("td", { className: "n r" }, span(merge.for_ms / 1000)));
}

function drawRate() {
	const [g, width] = surface($("rate"), 120), list = rates(), whole = Math.max(life(), 1);
	const chart = { x: 56, y: 8, width: width - 56, height: 88, max: Math.max(1, ...list.map(([, , rate]) => rate)) * 1.12 };
	rateAxis(g, chart);
	let i = 0;
	area(g, chart, pixel => {
		const ms = pixel / chart.width * whole;
		while (i < list.length - 1 && list[i][1] <= ms) i++;
		return list[i] && list[i][0] <= ms && ms <= list[i][1] ? list[i][2] : 0;
	});
	let free = chart.x; // labels begin right of it
	for (const [at, epoch] of epochChanges()) {
		const x = chart.x + at / whole * chart.width, text = "epoch " + epoch;
		dotted(g, x, chart.y, chart.y + chart.height);
		g.font = "11px " + colour.sans;
		const size = g.measureText(text).width, left = x > chart.x + 80 ? x - 6 - size : x + 6;
		if (left <= free) continue;
		put(g, text, left, chart.y + chart.height - 8, { fill: colour.ink, mono: false });
		free = left + size + 8;
	}
	if (replay !== null) {
		g.fillStyle = colour.ink;
		g.fillRect(Math.round(chart.x + replay / whole * chart.width), chart.y, 1, chart.height);
	}
	const parts = chart.width > 320 ? 4 : 2;
	timeAxis(g, chart, Array.from({ length: parts + 1 }, (_, i) => i ? span(whole / 1000 * i / parts) : "0"));
	$("rate").setAttribute("aria-label", `Partitions per second since the job began; now ${short(speed(life()).mean)}.`);
	tipOn($("rate"), x => {
		const ms = (x - chart.x) / chart.width * whole, found = list.find(([from, to]) => from <= ms && ms <= to);
		return found ? `${span(ms / 1000)}\n${short(found[2])}/s` : "";
	});
}

// epochChanges returns [milliseconds, epoch] of each leader after the first.
function epochChanges() {
	const samples = view.samples?.samples || [];
	return samples.flatMap((s, i) => i && s.epoch !== samples[i - 1].epoch ? [[(samples[i - 1].at_ms + s.at_ms) / 2, s.epoch]] : []);
}

function drawMarks() {
	const whole = Math.max(life(), 1);
	$("marks").replaceChildren(...epochChanges().map(([at, epoch]) => {
		const mark = el("u", { title: "Epoch " + epoch + " begins" });
		mark.style.left = `calc(8px + (100% - 16px) * ${at / whole})`;
		return mark;
	}));
}

// drawJob shows what storage knows of the job.
function drawJob() {
	const j = view.job;
	setText($("h-job"), (j.name ? j.name + ", " : "") + j.job + " " + j.version);
	drawTitle();
	if ($("jobid").dataset.id !== j.id) {
		$("jobid").dataset.id = j.id;
		$("jobid").replaceChildren(j.id, " ", copier(j.id, "the ID"));
	}
	$("jobst").replaceChildren(state(j.state));
	setText($("jobsub"), `Priority ${j.priority}, up to ${plural("attempt", j.max_attempts)}` + (j.started ? `, began ${clock(Date.parse(j.started))} UTC` : ""));
	const may = Boolean(view.cluster?.actions) && !view.saved, ended = ENDED.includes(j.state);
	$("cancel").hidden = !may || ended;
	$("retry").hidden = !may || !["failed", "cancelled"].includes(j.state) && !j.completable;
	$("resubmit").hidden = !may;
	$("params").replaceChildren(...Object.entries(j.params || {}).flatMap(([name, value]) => [el("dt", {}, name), el("dd", { className: "n" }, typeof value === "string" ? value : JSON.stringify(value))]));
	drawResult();
	drawEstimates();
	drawFailures();
	drawDurations();
}

// drawMoment shows the job at the shown moment.
function drawMoment() {
	drawFigures();
	drawLarge();
	drawRate();
	drawMap();
}

function stopPlaying() {
	clearInterval(playing);
	playing = 0;
	setText($("play"), "Replay");
}

function seek(ms) {
	replay = ms >= life() ? null : Math.max(0, ms);
	drawMoment();
}

function play() {
	if (playing) return stopPlaying();
	if (replay === null) replay = 0;
	setText($("play"), "Pause");
	const calm = matchMedia("(prefers-reduced-motion: reduce)").matches, steps = calm ? 20 : 160;
	playing = setInterval(() => {
		seek(replay + life() / steps);
		if (replay === null) stopPlaying();
	}, calm ? 1000 : 80);
}

function setUpJob() {
	$("at").oninput = event => { stopPlaying(); seek(Number(event.target.value)); };
	$("now").onclick = () => { stopPlaying(); seek(Infinity); };
	$("play").onclick = play;
}

on("map", () => {
	if (view.map.partitions && (!progress.length || view.map.elapsed_ms > progress.at(-1)[0])) progress.push([view.map.elapsed_ms, view.map.done + (view.map.earlier || 0)]);
	if (progress.length > 1200) progress.shift();
	if (view.job) drawFailures();
	drawReason();
	drawDurations();
	askForCells();
	if (replay === null) drawMoment();
	else drawFigures();
});
on("job job-error", () => {
	if (!view.opened) return;
	$("job").classList.toggle("gone", !view.job && view["job-error"] !== "");
	if (view.job) drawJob();
	drawReason();
	if (view.map || view.samples) drawMoment(); // the stream sends no samples at the job's end if they have not changed
});
on("samples", () => { drawMarks(); drawMoment(); });
