"use strict";
// Numbers and times as text.

const count = n => Math.round(n).toLocaleString("en-US");

// short gives three digits: 20.3 k, 1.94 M.
function short(n) {
	for (const [unit, size] of [["E", 1e18], ["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
		if (n >= size) return (n / size).toFixed(n >= 100 * size ? 0 : n >= 10 * size ? 1 : 2) + " " + unit;
	}
	return n >= 10 || Number.isInteger(n) ? String(Math.round(n)) : n.toFixed(1);
}

// tick labels an axis without needless zeros.
function tick(n) {
	for (const [unit, size] of [[" E", 1e18], [" P", 1e15], [" T", 1e12], [" G", 1e9], [" M", 1e6], [" k", 1e3]]) {
		if (n >= size) return Math.round(n / size * 100) / 100 + unit;
	}
	return String(Math.round(n * 100) / 100);
}

// span formats seconds.
function span(s) {
	const pad = n => String(Math.floor(n)).padStart(2, "0");
	if (s < 60) return (s < 10 ? s.toFixed(1) : Math.round(s)) + " s";
	if (s < 3600) return Math.floor(s / 60) + "m " + pad(s % 60) + "s";
	if (s < 86400) return Math.floor(s / 3600) + "h " + pad(s / 60 % 60) + "m";
	return Math.floor(s / 86400) + "d " + Math.floor(s / 3600 % 24) + "h";
}

const clock = ms => new Date(ms).toISOString().slice(11, 19);
const percent = share => (Math.floor(share * 1000) / 10).toFixed(1) + " %";

function bytes(n) {
	for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
		if (n >= size) return (n / size).toFixed(n >= 10 * size ? 0 : 1) + " " + unit;
	}
	return n + " B";
}

// plural("job", 2) is "2 jobs".
const plural = (noun, n) => count(n) + " " + noun + (n === 1 ? "" : "s");

// niceStep is a round number that is at least n.
function niceStep(n) {
	const power = 10 ** Math.floor(Math.log10(n));
	return [1, 2, 5, 10].map(m => m * power).find(step => step >= n);
}
