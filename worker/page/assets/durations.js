"use strict";
// How long the partitions of the opened job took: a histogram, and the slowest ones.

const BUCKET = 1e-5; // seconds: bucket 0 is below it, and each further bucket below twice the duration of the one before
const DURATIONS_HEIGHT = 120;

// durationText formats seconds, also short ones.
const durationText = s => s >= 1 ? span(s) : s >= 1e-3 ? short(s * 1e3) + " ms" : short(s * 1e6) + " µs";

const durationsOf = () => (isLive() ? view.map.durations : view.job?.durations) || null;

const rangeText = ({ lo, hi }) => hi - lo === 1 ? count(lo) : `${count(lo)} – ${count(hi - 1)}`;

function drawDurations() {
	const d = durationsOf();
	for (const id of ["h-durations", "durations", "slow"]) $(id).hidden = !d;
	if (!d) return;
	const first = Math.max(0, d.counts.findIndex(n => n > 0)), counts = d.counts.slice(first);
	const [g, width] = surface($("durations"), DURATIONS_HEIGHT);
	const chart = { x: 56, y: 8, width: width - 56, height: 88 }, most = Math.max(...counts), bar = Math.min(64, chart.width / counts.length);
	chart.width = bar * counts.length;
	const edge = i => i < 0 ? 0 : BUCKET * 2 ** i;
	put(g, tick(most), chart.x - 8, chart.y + 4, { align: "right" });
	put(g, "0", chart.x - 8, chart.y + chart.height, { align: "right" });
	g.fillStyle = colour.line;
	g.fillRect(chart.x, chart.y + chart.height, chart.width, 1);
	g.fillStyle = colour.computed;
	counts.forEach((n, i) => { // however few partitions there are, they are seen
		const height = n ? Math.max(2, n / most * chart.height) : 0;
		g.fillRect(chart.x + i * bar, chart.y + chart.height - height, Math.max(1, bar - 1), height);
	});
	const labels = [edge(first - 1), edge(first + counts.length - 1)].map(durationText);
	put(g, labels[0], chart.x, chart.y + chart.height + 14);
	put(g, labels[1], Math.max(chart.x + chart.width, chart.x + 112), chart.y + chart.height + 14, { align: "right" });
	const textAt = i => `${durationText(edge(first + i - 1))} – ${durationText(edge(first + i))}: ${plural("partition", counts[i])}`;
	$("durations").setAttribute("aria-label", "Durations of partitions: " + counts.map((n, i) => n ? textAt(i) : "").filter(Boolean).join("; "));
	tipOn($("durations"), x => {
		const i = Math.floor((x - chart.x) / bar);
		return i >= 0 && i < counts.length ? textAt(i) : "";
	});
	fillRows($("slow").tBodies[0], d.slowest, s => s.lo + " " + s.worker, s => el("tr", {}, el("td", { className: "n" }, rangeText(s)),
		el("td", { className: "n r" }, durationText(s.took_ns / 1e9) + (s.hi - s.lo > 1 ? " each" : "")), el("td", { className: "n who" }, s.worker)));
}
