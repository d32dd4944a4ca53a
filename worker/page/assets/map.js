"use strict";
// The map of the opened job: the merge tree, all partitions, and a detail of them. The
// server sends counts of partitions for cells, so that no partition is left out however
// many there are.

const CELL = 8; // pixels from one cell of the detail to the next
const TREE_LEVELS = 7;

let cells = null; // the last answer for the present windows: { all, detail, holders }
let level = 0, from = 0; // the detail: each cell has 2^level partitions, and the first is from
let following = true; // the detail follows what is in progress
let columns = 1, rows = 1; // of the detail
let highlighted = ""; // the worker whose cells stand out

function resetMap() {
	cells = null;
	level = 0;
	from = 0;
	following = true;
	highlighted = "";
	$("who").replaceChildren();
}

// A cell is [held, computed, durable, retrying, failed, holder].
const EMPTY = [0, 0, 0, 0, 0, 0];

// expand turns the runs of a window into cells.
function expand(window) {
	const list = [];
	for (const [repeat, ...cell] of window.runs) for (let i = 0; i < repeat; i++) list.push(cell);
	return { lo: window.lo, step: window.step, cells: list, retried: indexes(window.retried || []) };
}

// indexes is the set of the numbers in ranges.
function indexes(ranges) {
	const set = new Set();
	for (const [lo, hi] of ranges) for (let i = lo; i < hi; i++) set.add(i);
	return set;
}

// sampled makes cells from a sample, which has only what was durable.
function sampled(sample) {
	const step = view.samples.step, n = partitions(), shares = sample && sample.cells ? Uint8Array.from(atob(sample.cells), c => c.charCodeAt(0)) : [];
	const list = [];
	for (let lo = 0, i = 0; lo < n; lo += step, i++) list.push([0, 0, (shares[i] || 0) / 255 * Math.min(step, n - lo), 0, 0, 0]);
	// Which partitions ran again is known, but not when: they are marked once they are finished.
	const retried = indexes((view.samples.retried || []).map(([lo, hi]) => [Math.floor(lo / step), Math.ceil(hi / step)]));
	return { lo: 0, step, cells: list, retried: new Set([...retried].filter(i => list[i]?.[2])) };
}

// allCells returns the cells of the whole job at the shown moment, or null.
function allCells() {
	if (replay === null && isLive()) return cells && cells.all;
	return view.samples && view.samples.step ? sampled(sampleAt(replay === null ? Infinity : replay)) : null;
}

function layOut() {
	const width = $("cells").clientWidth;
	columns = Math.max(1, Math.floor((width + 1) / CELL));
	const most = width > 600 ? 14 : 24;
	rows = Math.max(1, Math.min(most, Math.ceil(partitions() / columns)));
}

const windowCells = () => columns * rows;

// topLevel is the lowest level at which the detail has all partitions.
function topLevel() {
	let k = 0;
	while (windowCells() * 2 ** k < partitions()) k++;
	return k;
}

// go moves the detail so that it begins at a partition, as far as there are partitions.
function go(partition) {
	const size = 2 ** level, last = Math.max(0, Math.ceil(partitions() / size) - windowCells()) * size;
	from = Math.max(0, Math.min(last, Math.floor(partition / size) * size));
}

// follow moves the detail to what is in progress.
function follow() {
	if (!cells || !cells.all) return;
	const busy = cells.all.cells.map((c, i) => c[0] || c[1] || c[3] ? i : -1).filter(i => i >= 0);
	if (!busy.length) return;
	const lo = busy[0] * cells.all.step, hi = (busy.at(-1) + 1) * cells.all.step;
	level = 0;
	while (windowCells() * 0.8 * 2 ** level < hi - lo) level++;
	level = Math.min(level, topLevel());
	go(lo - (windowCells() * 2 ** level - (hi - lo)) / 2);
}

// windowsWanted are the windows of the map, as parameters of the API.
function windowsWanted() {
	const n = partitions(), width = Math.max(64, Math.min(1500, $("all").clientWidth || 1024)), step = Math.max(1, Math.ceil(n / width));
	const detail = `${from}:${2 ** level}:${Math.min(windowCells(), 2500)}`;
	return [`0:${step}:${Math.ceil(n / step)}`, detail].map(w => "window=" + w).join("&");
}

let asking = null; // aborts the request in flight

// askForCells asks for the cells of the present windows, unless nobody looks.
async function askForCells() {
	if (view.saved) {
		const [all, detail] = view.saved.map.windows.map(expand);
		cells = { all, detail, holders: view.saved.map.holders };
		if (detail) { from = detail.lo; level = Math.round(Math.log2(detail.step)); following = false; }
		return;
	}
	if (!isLive() || document.hidden) return;
	if (asking) asking.abort();
	asking = new AbortController();
	const id = view.opened;
	try {
		const answer = await ask(`jobs/${id}/map?${windowsWanted()}`, { signal: asking.signal });
		if (id !== view.opened || answer.windows.length < 2) return;
		const [all, detail] = answer.windows.map(expand);
		cells = { all, detail, holders: answer.holders };
		if (following) follow();
		if (replay === null) drawMap();
	} catch {
		return; // aborted, or no leader answers: the last cells stay
	}
}

function drawMap() {
	layOut();
	const all = allCells(), detailed = replay === null && isLive();
	$("detail").hidden = !detailed;
	drawTree(all, detailed);
	drawAll(all, detailed);
	if (detailed) drawDetail();
}

// mergedShare is the share of partitions whose upper nodes are merged.
function mergedShare() {
	const tree = view.map.tree, top = treeTop(), n = partitions();
	let share = 0;
	eachNode(top, (k, i, at) => {
		if (k === Math.max(0, top - TREE_LEVELS + 1) && tree[at]?.merged) share += nodeSize(k, i) / n;
	});
	return share;
}

const treeTop = () => Math.ceil(Math.log2(Math.max(1, partitions())));
const nodeSize = (k, i) => Math.min(partitions(), (i + 1) * 2 ** k) - i * 2 ** k;

// eachNode visits the nodes of the upper levels in the order of the API: visit(level, index,
// position in the answer).
function eachNode(top, visit) {
	let at = 0;
	for (let k = top; k >= 0 && k > top - TREE_LEVELS; k--) {
		for (let i = 0; i * 2 ** k < partitions(); i++) visit(k, i, at++);
	}
}

function drawTree(all, live) {
	const canvas = $("tree"), top = treeTop(), n = partitions();
	$("treerow").hidden = !n;
	if (!n) return;
	const [g, width] = surface(canvas, TREE_LEVELS * CELL), scale = width / n;
	const nodes = [];
	eachNode(top, (k, i, at) => {
		const size = nodeSize(k, i), lo = i * 2 ** k;
		const node = live ? view.map.tree[at] || { done: 0, merged: false } : nodeOfCells(all, lo, lo + size);
		const x = lo * scale, y = (top - k) * CELL, w = size * scale;
		g.fillStyle = colour.waiting;
		g.fillRect(x, y, Math.max(1, w - 1), CELL - 1);
		g.fillStyle = node.merged ? colour.durable : colour.held;
		g.fillRect(x, y, node.done ? Math.max(1, w * node.done / size - 1) : 0, CELL - 1);
		nodes.push([k, i, lo, size, node]);
	});
	const lowest = Math.max(0, top - TREE_LEVELS + 1);
	setText($("lv"), top === lowest ? "level " + top : `levels ${top} – ${lowest}`);
	canvas.setAttribute("aria-label", `Merge tree, levels ${top} to ${lowest}: dark nodes are merged, light parts are finished below them. ${nodes.filter(([, , , , node]) => node.merged).length} of ${nodes.length} nodes are merged.`);
	tipOn(canvas, (x, y) => {
		const k = top - Math.floor(y / CELL), found = nodes.find(([level, , lo, size]) => level === k && x / scale >= lo && x / scale < lo + size);
		if (!found) return "";
		const [, i, lo, size, node] = found;
		return `Node ${k}/${i}\n${count(lo)} – ${count(lo + size - 1)}\n${node.merged ? "merged" : percent(node.done / size) + " finished"}`;
	});
}

// nodeOfCells estimates a node from the cells of a sample.
function nodeOfCells(all, lo, hi) {
	if (!all) return { done: 0, merged: false };
	let done = 0;
	for (let i = Math.floor(lo / all.step); i < all.cells.length && i * all.step < hi; i++) {
		const size = Math.min(all.step, partitions() - i * all.step), overlap = Math.min(hi, i * all.step + size) - Math.max(lo, i * all.step);
		done += all.cells[i][2] * overlap / size;
	}
	return { done, merged: done >= (hi - lo) * (1 - 1e-9) };
}

const ALL_HEIGHT = 72, BAND = 32;

function drawAll(all, live) {
	const canvas = $("all"), n = partitions(), [g, width] = surface(canvas, ALL_HEIGHT);
	if (!n) return;
	const X = partition => partition / n * width;
	g.fillStyle = colour.waiting;
	g.fillRect(0, 0, width, BAND);
	for (const [i, [held, computed, durable, retrying, failed]] of (all ? all.cells : []).entries()) {
		const lo = i * all.step, size = Math.min(all.step, n - lo), x = X(lo), w = X(lo + size) - x;
		let y = BAND;
		for (const [number, name] of [[durable, "durable"], [computed, "computed"], [held, "held"], [retrying, "held"]]) {
			const h = number / size * BAND;
			if (!h) continue;
			g.fillStyle = colour[name];
			g.fillRect(x, y - h, w + 0.5, h);
			y -= h;
		}
		// However few partitions are exceptions, they are seen.
		if (retrying || all.retried.has(i)) {
			g.fillStyle = colour.retried;
			g.fillRect(Math.floor(x), BAND + 3, Math.max(2, w), retrying ? 6 : 3);
		}
		if (failed) {
			const middle = x + w / 2;
			g.fillStyle = colour.failed;
			g.fillRect(Math.floor(x), 0, Math.max(2, w * failed / size), BAND);
			g.beginPath();
			[[middle, BAND + 2], [middle + 5, BAND + 10], [middle - 5, BAND + 10]].forEach(p => g.lineTo(...p));
			g.fill();
		}
	}
	const size = 2 ** level, shownCells = windowCells() * size;
	if (live && shownCells < n) {
		const w = Math.max(4, X(Math.min(shownCells, n - from)));
		g.strokeStyle = colour.ink;
		g.lineWidth = 1.5;
		g.strokeRect(Math.min(Math.max(1, X(from)), width - w - 1), 1, w, BAND + 11);
	}
	const parts = width > 600 ? 4 : 2;
	for (let i = 0; i <= parts; i++) {
		g.fillStyle = colour.line;
		g.fillRect(Math.min(width - 1, Math.round(width * i / parts)), BAND + 12, 1, 5);
		put(g, i ? tick(n * i / parts) : "0", width * i / parts, 60, { align: i === parts ? "right" : i ? "center" : "left" });
	}
	setText($("px"), all ? plural("partition", all.step) + (width / n > 1 ? " per bar" : " per pixel") : "");
	canvas.setAttribute("aria-label", `All ${plural("partition", n)}; the numbers by state are in the list below.`);
	tipOn(canvas, x => {
		const i = all ? Math.min(all.cells.length - 1, Math.floor(x / width * n / all.step)) : -1;
		return i < 0 ? "" : cellText(all, i, cells && cells.holders);
	});
	canvas.onclick = event => {
		if (!live || view.saved) return;
		following = false;
		go(event.offsetX / width * n - shownCells / 2);
		moved();
	};
}

// cellText says what is in a cell.
function cellText(map, i, holders) {
	const n = partitions(), lo = map.lo + i * map.step, hi = Math.min(n, lo + map.step), [held, computed, durable, retrying, failed, holder] = map.cells[i] || EMPTY;
	const lines = [lo === hi - 1 ? count(lo) : `${count(lo)} – ${count(hi - 1)}`];
	[["Durable", durable], ["Computed", computed], ["Held", held], ["Retrying", retrying], ["Failed", failed], ["Waiting", hi - lo - held - computed - durable - retrying - failed]].forEach(([name, number]) => {
		if (number >= 1) lines.push(`${name} ${count(number)}`);
	});
	if (map.retried.has(i)) lines.push("some ran again");
	if (holder && holders) lines.push("held by " + holders[holder - 1]);
	return lines.join("\n");
}

// look is the index in STATES of the colour of a cell: its largest state.
function look([held, computed, durable, retrying, failed], size) {
	const numbers = [size - held - computed - durable - retrying - failed, held, computed, durable];
	return numbers.indexOf(Math.max(...numbers));
}

function drawDetail() {
	const canvas = $("cells"), n = partitions(), map = cells && cells.detail, [g] = surface(canvas, rows * CELL - 1);
	const size = 2 ** level, to = Math.min(n, from + windowCells() * size), top = topLevel();
	setText($("win"), `${count(from)} – ${count(to - 1)}`);
	setText($("cell"), plural("partition", size) + " per cell");
	$("zi").disabled = !level;
	$("zo").disabled = level >= top;
	$("zl").disabled = !from;
	$("zr").disabled = to >= n;
	$("zx").disabled = !cells || !cells.all.cells.some(c => c[4] || c[3]) && !cells.all.retried.size;
	$("zf").setAttribute("aria-pressed", following);
	$("za").setAttribute("aria-pressed", level >= top);
	canvas.setAttribute("aria-label", `Partitions ${$("win").textContent}, ${$("cell").textContent}, in rows from the left.`);
	if (!map) return;
	const holder = highlighted ? cells.holders.indexOf(highlighted) + 1 : 0;
	for (let i = 0; i < windowCells() && from + i * size < n; i++) {
		// After a move, the cells at hand are of another window until the next answer.
		const at = Math.floor((from + i * size - map.lo) / map.step), cell = at >= 0 && map.cells[at] || EMPTY;
		const x = i % columns * CELL, y = Math.floor(i / columns) * CELL, [, , , retrying, failed] = cell;
		g.globalAlpha = highlighted && cell[5] !== holder && !failed ? 0.35 : 1;
		g.fillStyle = colour[failed ? "failed" : retrying * 2 > map.step ? "retried" : STATES[look(cell, Math.min(map.step, n - from - i * size))]];
		g.fillRect(x, y, CELL - 1, CELL - 1);
		g.globalAlpha = 1;
		if (failed) cross(g, x, y);
		else if (retrying * 2 > map.step) dot(g, x + 2.5, y + 2.5, 2, colour.panel);
		else if (retrying || map.retried.has(at)) dot(g, x + 2, y + 2, 3, colour.retried);
	}
	const hit = (x, y) => {
		const i = Math.floor(y / CELL) * columns + Math.floor(x / CELL);
		return x < columns * CELL && from + i * size < n ? i : -1;
	};
	tipOn(canvas, (x, y) => {
		const i = hit(x, y);
		return i < 0 || map.lo !== from || map.step !== size ? "" : cellText(map, i, cells.holders);
	});
	canvas.onclick = event => {
		const i = hit(event.offsetX, event.offsetY);
		if (i >= 0 && level && !view.saved) zoom(-2, from + (i + 0.5) * size);
	};
}

function dot(g, x, y, size, fill) {
	g.fillStyle = fill;
	g.fillRect(x, y, size, size);
}

function cross(g, x, y) {
	g.strokeStyle = colour.panel;
	g.lineWidth = 1.4;
	g.beginPath();
	g.moveTo(x + 1.5, y + 1.5);
	g.lineTo(x + 5.5, y + 5.5);
	g.moveTo(x + 5.5, y + 1.5);
	g.lineTo(x + 1.5, y + 5.5);
	g.stroke();
}

// moved draws the detail at its new place with the cells at hand, and asks for new ones.
function moved() {
	drawMap();
	askForCells();
}

// zoom changes the level around a partition.
function zoom(by, middle = from + windowCells() * 2 ** level / 2) {
	following = false;
	level = Math.max(0, Math.min(topLevel(), level + by));
	go(middle - windowCells() * 2 ** level / 2);
	moved();
}

function highlight(worker) {
	highlighted = worker;
	if (cells && replay === null && isLive()) drawDetail();
}

// drawHolders offers the workers of the page of workers for highlighting.
function drawHolders() {
	const select = $("who"), ids = view.workers.workers.map(w => w.id), chosen = select.value;
	if (select.dataset.ids === ids.join()) return;
	select.dataset.ids = ids.join();
	select.replaceChildren(el("option", { value: "" }, "All workers"), ...ids.map(id => el("option", { value: id }, id)));
	select.value = ids.includes(chosen) ? chosen : "";
}

function setUpMap() {
	const shift = by => () => {
		following = false;
		go(from + by * windowCells() * 2 ** level);
		moved();
	};
	$("zl").onclick = shift(-0.5);
	$("zr").onclick = shift(0.5);
	$("zi").onclick = () => zoom(-2);
	$("zo").onclick = () => zoom(2);
	$("za").onclick = () => zoom(topLevel());
	$("zf").onclick = () => { following = true; follow(); moved(); };
	$("zx").onclick = () => {
		const all = cells.all, i = [4, 3].map(state => all.cells.findIndex(c => c[state])).find(i => i >= 0) ?? Math.min(...all.retried);
		following = false;
		level = Math.max(0, Math.ceil(Math.log2(all.step / windowCells() * 2)));
		go((i + 0.5) * all.step - windowCells() * 2 ** level / 2);
		moved();
	};
	$("who").onchange = event => highlight(event.target.value);
}
