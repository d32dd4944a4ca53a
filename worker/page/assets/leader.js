"use strict";
// The timeline of leaders with the cluster's throughput, and the failovers.

const RANGES = { "5 min": 300, "1 h": 3600, "24 h": 86400 };
const TERMS_HEIGHT = 168;
let range = "5 min";

const PHASES = [
	["Detect", "detect_ms"], ["Elect", "elect_ms"], ["Fence", "fence_ms"], ["Resume", "resume_ms"],
	["First work", "first_assignment_ms"], ["First result", "first_result_ms"],
];
const CAUSES = {
	first: "the cluster had no leader before", handover: "the previous leader stopped and handed over", died: "its process had ended",
	silent: "its process did not answer", expired: "its lease expired", free: "no worker held the lease",
};

// CRASHES are the causes of a change of leader that are deaths.
const CRASHES = ["died", "silent", "expired"];

// untilWork is how long nobody could assign work, in milliseconds. The first work and the
// first result depend on the jobs, so they do not count.
const untilWork = term => PHASES.slice(0, 4).reduce((sum, [, key]) => sum + (term[key] || 0), 0);

// throughput returns the partitions per second of all jobs in each of n equal parts of the
// time from begin to end, in milliseconds.
function throughput(begin, end, n) {
	const out = new Float64Array(n), part = (end - begin) / n;
	const add = (from, to, rate) => {
		from = Math.max(from, begin);
		to = Math.min(to, end);
		for (let i = Math.floor((from - begin) / part); i < n && begin + i * part < to; i++) {
			const overlap = Math.min(to, begin + (i + 1) * part) - Math.max(from, begin + i * part);
			if (overlap > 0) out[i] += rate * overlap / part;
		}
	};
	// Before the page was opened, throughput comes from checkpoints.
	const live = view.rates.length && !view.saved ? view.rates[0][0] : Infinity;
	for (const job of view.throughput ? view.throughput.jobs : []) {
		const started = Date.parse(job.started);
		job.points.forEach(([at, done], i) => {
			if (!i) return;
			const [before, had] = job.points[i - 1];
			if (at > before && done > had) add(started + before, Math.min(started + at, live), (done - had) / (at - before) * 1000);
		});
	}
	view.rates.forEach(([at, rate], i) => {
		if (i && !view.saved) add(view.rates[i - 1][0], at, rate);
	});
	return out;
}

function drawTerms() {
	const terms = view.terms ? view.terms.terms : [];
	const canvas = $("terms"), seconds = RANGES[range], end = view.now, begin = end - seconds * 1000;
	const [g, all] = surface(canvas, TERMS_HEIGHT);
	const chart = { x: 56, y: 40, width: all - 56, height: 104 };
	const rates = throughput(begin, end, Math.max(1, Math.floor(chart.width)));
	chart.max = Math.max(1, ...rates) * 1.15;
	const X = ms => chart.x + (ms - begin) / (end - begin) * chart.width;

	put(g, "Epoch", chart.x - 8, 12, { align: "right", mono: false });
	rateAxis(g, chart);
	g.save();
	g.beginPath();
	g.rect(chart.x, 0, chart.width, TERMS_HEIGHT);
	g.clip();
	area(g, chart, i => rates[Math.min(rates.length - 1, i)]);
	let free = Infinity; // labels end left of it
	terms.forEach((term, i) => {
		const from = Date.parse(term.at), to = i ? Date.parse(terms[i - 1].at) - terms[i - 1].detect_ms - terms[i - 1].elect_ms : view.cluster && view.cluster.leader ? end : leaderlessSince();
		if (to > begin) drawTerm(g, term, Math.max(chart.x, X(from)), Math.min(all, X(to)), !i && view.cluster && view.cluster.leader);
		if (from > begin) {
			const x = X(from);
			dotted(g, x, 26, chart.y + chart.height);
			g.fillStyle = colour.ink;
			g.beginPath();
			[[0.5, 27], [5.5, 32], [0.5, 37], [-4.5, 32]].forEach(([dx, y]) => g.lineTo(x + dx, y));
			g.fill();
			const text = count(untilWork(term)) + " ms", width = g.measureText(text).width + 12;
			const left = x + width > all ? x - width : x + 10;
			const older = terms[i + 1] ? X(Date.parse(terms[i + 1].at)) + 8 : -Infinity; // the mark of the term before ends there
			if (seconds <= 3600 && left + width < free && (left > x || left > older)) {
				put(g, text, left, 32, { fill: colour.ink });
				free = Math.min(left, x - 8);
			}
		}
	});
	g.restore();
	const parts = chart.width < 600 ? 2 : 5;
	timeAxis(g, chart, Array.from({ length: parts + 1 }, (_, i) => i === parts ? "now" : "−" + span(seconds * (parts - i) / parts).replace(/m 00s$/, " min").replace(/h 00m$/, " h")));

	const led = view.cluster && view.cluster.leader;
	canvas.setAttribute("aria-label", `Terms and throughput of the cluster over the last ${range}. ` + (led ? `Epoch ${led.epoch} is led by ${led.worker}.` : "No leader answers.") + " The failovers are listed below.");
	tipOn(canvas, x => {
		const ms = begin + (x - chart.x) / chart.width * (end - begin);
		if (ms < begin) return "";
		const term = terms.find(t => Date.parse(t.at) <= ms);
		return `${clock(ms)} UTC, ${span((end - ms) / 1000)} ago\n${short(rates[Math.min(rates.length - 1, Math.floor(x - chart.x))] || 0)}/s` + (term ? `\nEpoch ${term.epoch}, ${term.worker}` : "");
	});
}

function drawTerm(g, term, from, to, current) {
	const width = Math.max(1, to - from - 1);
	g.fillStyle = current ? colour.durable : colour.other;
	g.globalAlpha = current ? 1 : 0.45;
	g.fillRect(from, 0, width, 24);
	g.globalAlpha = 1;
	g.font = "11px " + colour.mono;
	const text = [`${term.epoch}  ${term.worker}`, String(term.epoch)].find(t => g.measureText(t).width + 12 < width);
	if (text) put(g, text, from + 8, 12.5, { fill: current ? colour.panel : colour.ink });
}

const FAILOVERS = 3;
const drawnTerms = new Map(); // epoch → [answer, element]

function drawFailovers() {
	const terms = view.terms.terms, shown = terms.slice(0, FAILOVERS), worst = Math.max(1, ...shown.map(untilWork));
	$("failovers").replaceChildren(...shown.map((term, i) => {
		const answer = JSON.stringify([term, worst, terms[i + 1]?.epoch]);
		const [drawn, old] = drawnTerms.get(term.epoch) || [];
		if (drawn === answer) return old;
		const e = failover(term, terms[i + 1], worst);
		e.open = old ? old.open : false;
		drawnTerms.set(term.epoch, [answer, e]);
		return e;
	}));
}

function failover(term, previous, worst) {
	const total = untilWork(term), bar = el("span", { className: "phases", ariaHidden: "true" }), fall = el("dl", { className: "fall" });
	let sum = 0;
	PHASES.forEach(([name, key], i) => {
		const ms = term[key];
		if (!ms && key !== "first_assignment_ms") return;
		const known = ms || 0, within = i < 4;
		if (within) {
			const piece = el("i");
			piece.style.flex = known + " 0 0";
			bar.append(piece);
		}
		const mark = el("i");
		mark.style.left = Math.min(100, sum / Math.max(total, 0.001) * 100) + "%";
		mark.style.width = within ? known / Math.max(total, 0.001) * 100 + "%" : "0";
		sum += known;
		fall.append(el("dt", {}, name), el("dd", { className: "track", ariaHidden: "true" }, within ? mark : ""), el("dd", { className: "n r" }, ms === null ? "not yet" : known.toFixed(1) + " ms"), el("dd", { className: "n r q" }, sum.toFixed(1)));
	});
	bar.style.width = Math.max(2, total / worst * 100) + "%";
	const at = Date.parse(term.at);
	const facts = el("dl", { className: "kv" });
	for (const [name, value] of [["Cause", `${term.cause}: ${CAUSES[term.cause] || "unknown"}`], ["Acquired", term.at.replace("T", " ").slice(0, 23) + " UTC"], ["Leader", term.worker], ["Before", previous ? `epoch ${previous.epoch}, ${previous.worker}` : "not known"]]) {
		facts.append(el("dt", {}, name), el("dd", {}, value));
	}
	return el("details", { className: "fo" },
		el("summary", {}, icon("open"), el("span", {}, el("time", {}, clock(at)), el("span", { className: "q s" }, "\u2002UTC")),
			el("span", {}, "Epoch ", el("span", { className: "n" }, previous ? `${previous.epoch} → ${term.epoch}` : term.epoch)),
			el("span", { className: "n who" }, term.worker), el("span", {}, term.cause), bar, el("span", { className: "n" }, count(total) + " ms")),
		el("div", { className: "more" }, fall, facts));
}

function drawRanges() {
	choice($("range"), Object.keys(RANGES).map(name => [name, name]), range, name => {
		range = name;
		drawRanges();
		drawTerms();
	});
}

on("cluster throughput", drawTerms);
on("terms", () => { drawTerms(); drawFailovers(); });
