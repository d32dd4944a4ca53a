"use strict";
// The estimates of a job from its first partitions: a curve with its band, and the last one in words. The numbers of a job
// with rounds are drawn in the same way.

// intervals returns [partitions, value, low, high] of each estimate that is a number or an interval.
function intervals(list) {
	return list.flatMap(({ partitions, value: e }) => {
		const value = typeof e === "number" ? e : e?.value;
		if (typeof value !== "number") return [];
		const hasBounds = typeof e.low === "number" && typeof e.high === "number";
		return [[partitions, value, hasBounds ? e.low : value, hasBounds ? e.high : value]];
	});
}

const digits = n => Number(n.toPrecision(6)).toString();

// axisText is a number that fits beside a chart.
const axisText = n => digits(n).length > 9 ? n.toExponential(2) : digits(n);

// estimateText describes the last estimate, and the stop.
function estimateText(list, stopped) {
	const last = list.at(-1), [found] = intervals(list.slice(-1));
	const words = [];
	if (found) words.push(digits(found[1]) + (found[2] < found[3] ? ` (${digits(found[2])} to ${digits(found[3])})` : "") + ` from ${plural("partition", found[0])}`);
	else if (last && last.value !== null) words.push(JSON.stringify(last.value) + ` from ${plural("partition", last.partitions)}`);
	if (stopped) words.push(`stopped after ${plural("partition", stopped.partitions)}, rung ${stopped.rung}` + (stopped.timed ? ", because the time was up" : ""));
	return words.join("; ");
}

// roundText describes the round that runs or was the last one.
function roundText(j) {
	const last = j.finished_rounds?.at(-1);
	const seconds = last ? j.finished_rounds.reduce((sum, r) => sum + r.seconds, 0) / j.finished_rounds.length : 0;
	return `Round ${short(j.round || 0)} of at most ${short(j.max_rounds)}`
		+ (last && j.measure ? `, ${j.measure} ${digits(last.value)} after round ${short(last.round)}` : "")
		+ (last ? `, ${span(seconds)} a round` : "")
		+ (j.time_up ? "; ended because the time was up" : "");
}

// course returns what the chart shows: its heading, numbers, their unit and a text.
function course(j) {
	if (!j.max_rounds) return { heading: ["Estimate ", "from the first partitions"], list: j.estimates, unit: "partition", text: estimateText(j.estimates, j.stopped) };
	const list = j.measure ? (j.finished_rounds || []).map(r => ({ partitions: r.round, value: r.value })) : [];
	return { heading: [(j.measure || "rounds").replace(/^./, c => c.toUpperCase()) + " ", j.measure ? "after each round" : ""], list, unit: "round", text: roundText(j) };
}

// drawEstimates draws the estimates over the logarithm of the number of partitions, and the numbers of rounds over the rounds.
// The last two thirds of the estimates give the range of the chart. The band and the curve of the first, less accurate
// ones are cut at its edges.
function drawEstimates() {
	const { heading: [title, of], list, unit, text } = course(view.job), curve = intervals(list);
	for (const id of ["h-estimate", "estimatetext"]) $(id).hidden = !text;
	$("h-estimate").replaceChildren(title, el("span", { className: "q s" }, of));
	$("estimate").hidden = curve.length < 2;
	setText($("estimatetext"), text);
	if (curve.length < 2) return;
	const [g, width] = surface($("estimate"), 120);
	const chart = { x: 72, y: 8, width: width - 72, height: 88 };
	const late = unit === "round" ? curve : curve.slice(Math.floor(curve.length / 3)), scale = unit === "round" ? n => n : Math.log;
	const low = Math.min(...late.map(c => c[2])), high = Math.max(...late.map(c => c[3]));
	const room = (high - low || Math.abs(high) || 1) * 0.06, from = low - room, to = high + room;
	const x = n => chart.x + (scale(n) - scale(curve[0][0])) / (scale(curve.at(-1)[0]) - scale(curve[0][0])) * chart.width;
	const y = v => chart.y + chart.height - (v - from) / (to - from) * chart.height;
	for (const v of [low, (low + high) / 2, high]) {
		g.fillStyle = colour.line;
		g.fillRect(chart.x, Math.round(y(v)), chart.width, 1);
		put(g, axisText(v), chart.x - 8, y(v), { align: "right" });
	}
	g.save();
	g.beginPath();
	g.rect(chart.x, chart.y, chart.width, chart.height);
	g.clip();
	g.beginPath();
	curve.forEach(([n, , , top], i) => i ? g.lineTo(x(n), y(top)) : g.moveTo(x(n), y(top)));
	for (const [n, , bottom] of curve.toReversed()) g.lineTo(x(n), y(bottom));
	g.globalAlpha = 0.28;
	g.fillStyle = colour.computed;
	g.fill();
	g.globalAlpha = 1;
	g.beginPath();
	curve.forEach(([n, v], i) => i ? g.lineTo(x(n), y(v)) : g.moveTo(x(n), y(v)));
	g.strokeStyle = colour.computed;
	g.lineWidth = 1.25;
	g.stroke();
	g.restore();
	timeAxis(g, chart, [short(curve[0][0]), unit + "s", short(curve.at(-1)[0])]);
	$("estimate").setAttribute("aria-label", `${title}${of}: ${text}.`);
	tipOn($("estimate"), at => {
		const found = curve.findLast(([n]) => x(n) <= at + 1);
		if (!found) return "";
		if (unit === "round") return `${title}${digits(found[1])} after round ${short(found[0])}`;
		return estimateText([{ partitions: found[0], value: { value: found[1], low: found[2], high: found[3] } }], null);
	});
}
