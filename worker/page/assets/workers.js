"use strict";
// The workers, with a strip of slots for each.

const STRIP_SECONDS = 120, LANE = 4, MAX_LANES = 16, ROW = 31;
const strips = new Map(); // worker → { lanes: [[span...]...], seen }

// noteRunning adds what the workers run now to their strips: a lane for each slot.
function noteRunning() {
	const now = view.now;
	for (const w of view.workers.workers) {
		let h = strips.get(w.id);
		if (!h) strips.set(w.id, h = { lanes: [], first: now });
		h.seen = now;
		const slots = Math.max(w.slots + w.lost, 1), { lanes } = h, running = new Map(); // lane → span
		while (lanes.length < slots) lanes.push([]);
		for (const r of w.running || []) {
			// A worker of an earlier version does not name the slot: the span keeps its lane.
			let i = r.slot ? r.slot - 1 : lanes.findIndex(lane => lane.at(-1)?.open && lane.at(-1).number === r.number);
			if (i < 0) i = lanes.findIndex((lane, i) => !running.has(i) && !lane.at(-1)?.open);
			if (i >= 0 && i < slots) running.set(i, r);
		}
		lanes.forEach((lane, i) => {
			const last = lane.at(-1), r = running.get(i);
			if (last?.open) {
				last.to = now;
				last.open = last.number === r?.number;
			}
			if (r && !last?.open) lane.push({ number: r.number, job: r.job, again: r.again, reassigned: r.reassigned, open: true, from: Math.max(now - r.for_ns / 1e6, last?.to || h.first - 2000), to: now });
			while (lane.length && lane[0].to < now - STRIP_SECONDS * 1000) lane.shift();
		});
	}
	for (const [id, h] of strips) if (now - h.seen > STRIP_SECONDS * 1000) strips.delete(id);
}

function drawStrip(canvas, worker) {
	const [g, width] = surface(canvas, ROW), h = strips.get(worker.id), now = view.now;
	if (!h || !width) return;
	const X = ms => width - (now - ms) / (STRIP_SECONDS * 1000) * width;
	const lanes = h.lanes.slice(0, MAX_LANES), height = Math.min(12, Math.max(LANE, Math.floor((ROW + 1) / lanes.length)));
	let busy = 0;
	lanes.forEach((lane, i) => {
		const y = i * height;
		g.fillStyle = colour.waiting;
		g.fillRect(0, y, width, height - 1);
		for (const s of lane) {
			busy += s.to - Math.max(s.from, now - STRIP_SECONDS * 1000);
			const x = Math.max(0, X(s.from));
			g.fillStyle = s.job === view.opened ? s.again ? colour.retried : colour.computed : colour.other;
			g.fillRect(x, y, Math.max(1, X(s.to) - x - (s.open ? 0 : 1)), height - 1);
			if (s.again) {
				g.fillStyle = colour.ink;
				g.fillRect(x, y, 2, height - 1);
			}
		}
		if (worker.lost_at ? worker.lost_at.includes(i) : i >= worker.slots) { // lost
			g.strokeStyle = colour.ink2;
			g.lineWidth = 1;
			g.save();
			g.beginPath();
			g.rect(0, y, width, height - 1);
			g.clip();
			g.beginPath();
			for (let x = -height; x < width; x += 5) { g.moveTo(x, y + height); g.lineTo(x + height, y); }
			g.stroke();
			g.restore();
		}
	});
	for (const term of view.terms ? view.terms.terms : []) {
		const at = Date.parse(term.at);
		if (at > now - STRIP_SECONDS * 1000) dotted(g, X(at), 0, ROW);
	}
	const seconds = Math.min(STRIP_SECONDS, (now - h.first) / 1000 + 1);
	const share = busy / (seconds * 1000 * Math.max(1, lanes.length));
	canvas.setAttribute("aria-label", `Slots of ${worker.id}: ${Math.min(100, Math.round(share * 100))} % busy in the last ${span(seconds)}.`);
	tipOn(canvas, (x, y) => {
		const at = now - (width - x) / width * STRIP_SECONDS * 1000, lane = lanes[Math.floor(y / height)];
		const s = lane && lane.find(s => s.from <= at && at <= s.to);
		return s ? `Job ${s.job}\nspan ${s.number}, ${span((s.to - s.from) / 1000)}` + (s.again ? "\nretried" : s.reassigned ? "\nreassigned after a death" : "") : "";
	});
}

function workerRow({ worker: w, alike, names }) {
	const name = el("td", { className: "name" }, el("span", { className: "n" }, w.id));
	const tag = (text, kind = "") => name.append(el("span", { className: "tag " + kind }, text));
	if (w.leader) tag("Leader");
	if (w.state === "draining") tag("Draining", "warn");
	if (w.state === "silent") tag("Silent", "bad");
	const benched = w.state.startsWith("benched");
	if (benched) tag("Benched", "bad");
	if (w.lost) tag(plural("slot", w.lost) + " lost", "bad");
	const made = [`${w.host}, process ${w.pid}`, ...(alike ? [] : [w.version, w.build])].filter(Boolean).join(", ");
	name.append(el("span", { className: "q s made", title: made }, made));
	const cell = (label, text) => {
		const td = el("td", { className: "r" }, el("span", { className: "n" }, text));
		td.dataset.l = label;
		return td;
	};
	const strip = el("canvas", { height: ROW, role: "img", ariaLabel: "Slots of " + w.id });
	strip.worker = w;
	const row = el("tr", { title: [w.version || "unknown version", w.build, benched && w.state].filter(Boolean).join("\n") }, name, el("td", { className: "strip" }, strip),
		cell("CPU", w.usage.cores ? w.usage.cores.toFixed(1) + " cores" : "–"), cell("Memory", w.usage.memory ? bytes(w.usage.memory) : "–"), runsCell(w, names),
		cell("Partials held", count(w.usage.items + (w.usage.nodes || 0)) + ", " + bytes(w.usage.bytes + (w.usage.node_bytes || 0))), cell("Cost of death", (w.cost / Math.max(1, w.slots)).toFixed(1) + " worker-s"));
	row.onmouseenter = () => highlight(w.id);
	row.onmouseleave = () => highlight($("who").value);
	return row;
}

// namesIn returns the names of the jobs that a worker runs, by ID.
const namesIn = (worker, names) => Object.fromEntries((worker.running || []).map(r => [r.job, names[r.job] || r.job]));

const MAX_RUNS = 3; // spans that a row lists

// runsCell says what a worker runs, the longest first, and for how long.
function runsCell(w, names) {
	const td = el("td", { className: "runs" }), runs = (w.running || []).toSorted((a, b) => b.for_ns - a.for_ns);
	td.dataset.l = "Runs";
	for (const r of runs.slice(0, MAX_RUNS)) {
		const text = `${names[r.job]}${r.hi ? " " + rangeText(r) : ""}, ${span(r.for_ns / 1e9)}` + (r.again ? ", retried" : r.reassigned ? ", reassigned" : "");
		td.append(el("span", { className: "run", title: `Job ${r.job}: ${text}` }, text));
	}
	if (runs.length > MAX_RUNS) td.append(el("span", { className: "run q" }, `and ${count(runs.length - MAX_RUNS)} more`));
	if (!runs.length) td.append(el("span", { className: "q" }, "nothing"));
	return td;
}

const GONE_FOR = 86400e3; // milliseconds for which the deaths of leaders are shown

// goneWorkers returns the workers that have died, as far as the leader and the history of leaders know, the last one first.
function goneWorkers() {
	const list = view.workers.gone.map(g => ({ ...g, at: view.now - g.for_ns / 1e6 })), terms = view.terms?.terms || [];
	terms.forEach((term, i) => {
		const at = Date.parse(term.at), led = terms[i + 1];
		if (!led || !CRASHES.includes(term.cause) || view.now - at > GONE_FOR || list.some(g => g.id === led.worker)) return;
		list.push({ id: led.worker, host: "", at, cause: `it led in epoch ${led.epoch}, and ${CAUSES[term.cause]}`, work: "", memory: 0 });
	});
	return list.sort((a, b) => b.at - a.at).slice(0, 20);
}

function goneRow(g) {
	const ran = [g.work && "It ran " + g.work, g.memory && `it used ${bytes(g.memory)} when it last reported`].filter(Boolean).join("; ");
	return el("tr", {}, el("td", { className: "n" }, clock(g.at)), el("td", { className: "n who" }, g.id), el("td", { className: "n host" }, g.host || "–"),
		el("td", { className: "reason" }, g.cause.replace(/^./, c => c.toUpperCase()) + ".", ran ? el("span", { className: "q" }, ` ${ran.replace(/^./, c => c.toUpperCase())}.`) : ""));
}

// drawGone lists the workers that have died. Their times are rounded, because the leader says how long ago they died.
function drawGone() {
	const list = goneWorkers().map(g => ({ ...g, for_ns: 0, at: Math.round(g.at / 1000) * 1000 }));
	$("gone").hidden = !list.length;
	fillRows($("gt").tBodies[0], list, g => g.id + g.cause, goneRow);
}

function drawWorkers() {
	const a = view.workers, body = $("wt").tBodies[0];
	const totals = view.cluster?.totals, alike = (totals?.versions || []).length < 2 && (totals?.builds || []).length < 2;
	const names = Object.fromEntries([...(view.jobs?.jobs || []), view.job].filter(Boolean).map(j => [j.id, j.name || j.job]));
	fillRows(body, a.workers.map(worker => ({ worker, alike, names: namesIn(worker, names) })), item => item.worker.id, workerRow);
	drawGone();
	for (const canvas of body.querySelectorAll("canvas")) drawStrip(canvas, canvas.worker);
	$("noworkers").hidden = a.workers.length > 0;
	$("wpager").hidden = !a.more && !view.after;
	setText($("workerpage"), a.more ? plural("worker", a.workers.length) + ", " + count(a.more) + " more" : plural("worker", a.workers.length));
	$("wnext").disabled = !a.next;
	$("wfirst").disabled = !view.after;
}

function setUpWorkers() {
	$("wnext").onclick = () => { view.after = view.workers.next; connect(); };
	$("wfirst").onclick = () => { view.after = ""; connect(); };
	$("wlegend").replaceChildren(...[["computed", "Opened job"], ["other", "Other jobs"], ["retried", "Retried"], ["", "Lost"]].map(([name, text]) => {
		const box = el("i", { className: name ? "" : "hatch" });
		if (name) box.style.background = `var(--${name})`;
		return el("span", {}, box, text);
	}));
}

on("workers", () => { noteRunning(); drawWorkers(); drawHolders(); });
