"use strict";
// What the canvases share.

// STATES are the states of partitions, from the least to the most advanced, and then the
// exceptions. Their names are those of the colours too.
const STATES = ["waiting", "held", "computed", "durable", "retried", "failed"];
const STATE_NAMES = ["Waiting", "Held", "Computed", "Durable", "Retrying", "Failed"];

let colour = {};

// readColours reads the present theme from the style sheet.
function readColours() {
	const probe = el("i");
	document.body.append(probe);
	for (const name of ["panel", "line", "ink", "ink2", "other", ...STATES]) {
		probe.style.color = `var(--${name})`;
		colour[name] = getComputedStyle(probe).color;
	}
	probe.remove();
	colour.sans = getComputedStyle(document.body).fontFamily;
	colour.mono = getComputedStyle(document.documentElement).getPropertyValue("--mono");
}

// surface clears a canvas for its present width, in CSS pixels.
function surface(canvas, height) {
	const width = canvas.clientWidth, scale = window.devicePixelRatio || 1;
	canvas.style.height = height + "px";
	canvas.width = Math.round(width * scale);
	canvas.height = Math.round(height * scale);
	const g = canvas.getContext("2d");
	g.scale(scale, scale);
	return [g, width];
}

function put(g, text, x, y, { fill = colour.ink2, align = "left", mono = true } = {}) {
	g.font = "11px " + (mono ? colour.mono : colour.sans);
	g.textBaseline = "middle";
	g.textAlign = align;
	g.fillStyle = fill;
	g.fillText(text, x, y);
}

// dotted draws a vertical line of dots.
function dotted(g, x, from, to) {
	g.fillStyle = colour.ink;
	for (let y = from; y < to; y += 4) g.fillRect(Math.round(x), y, 1, 2);
}

// A chart has its axes at the left and at the bottom: x and y are its upper left corner.
function rateAxis(g, { x, y, width, height, max }) {
	const step = niceStep(max / 2.5);
	for (let v = 0; v <= max; v += step) {
		const at = Math.round(y + height - v / max * height);
		g.fillStyle = colour.line;
		g.fillRect(x, at, width, 1);
		put(g, v ? tick(v) + "/s" : "0", x - 8, at, { align: "right" });
	}
}

function timeAxis(g, { x, y, width, height }, labels) {
	const last = labels.length - 1;
	labels.forEach((text, i) => put(g, text, x + width * i / last, y + height + 14, { align: i === last ? "right" : i ? "center" : "left" }));
}

// area fills the chart below value(pixel).
function area(g, { x, y, width, height, max }, value) {
	const top = [];
	for (let i = 0; i <= width; i++) top.push(y + height - Math.min(1, value(i) / max) * height);
	g.beginPath();
	g.moveTo(x, y + height);
	top.forEach((at, i) => g.lineTo(x + i, at));
	g.lineTo(x + width, y + height);
	g.globalAlpha = 0.28;
	g.fillStyle = colour.computed;
	g.fill();
	g.globalAlpha = 1;
	g.beginPath();
	top.forEach((at, i) => i ? g.lineTo(x + i, at) : g.moveTo(x, at));
	g.strokeStyle = colour.computed;
	g.lineWidth = 1.25;
	g.stroke();
}
