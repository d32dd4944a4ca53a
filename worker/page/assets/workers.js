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
			if (r && !last?.open) lane.push({ number: r.number, job: r.job, again: r.again, open: true, from: Math.max(now - r.for_ns / 1e6, last?.to || h.first - 2000), to: now });
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
		return s ? `Job ${s.job}\nspan ${s.number}, ${span((s.to - s.from) / 1000)}` + (s.again ? "\nruns again" : "") : "";
	});
}

function workerRow(w) {
	const name = el("td", { className: "name" }, el("span", { className: "n" }, w.id));
	const tag = (text, kind = "") => name.append(el("span", { className: "tag " + kind }, text));
	if (w.leader) tag("Leader");
	if (w.state === "draining") tag("Draining", "warn");
	if (w.state === "silent") tag("Silent", "bad");
	const benched = w.state.startsWith("benched");
	if (benched) tag("Benched", "bad");
	if (w.lost) tag(plural("slot", w.lost) + " lost", "bad");
	name.append(el("span", { className: "q s made" }, [w.version, w.build].filter(Boolean).join(", ")));
	const cell = (label, text) => {
		const td = el("td", { className: "r" }, el("span", { className: "n" }, text));
		td.dataset.l = label;
		return td;
	};
	const strip = el("canvas", { height: ROW, role: "img", ariaLabel: "Slots of " + w.id });
	strip.worker = w;
	const row = el("tr", { title: `${w.host}, process ${w.pid}, ${w.version || "unknown version"}, ${w.build}` + (benched ? "\n" + w.state : "") }, name, el("td", { className: "strip" }, strip),
		cell("Memory", w.usage.memory ? bytes(w.usage.memory) : "–"), cell("Spans", count(w.spans)),
		cell("Partials held", count(w.usage.items + (w.usage.nodes || 0)) + ", " + bytes(w.usage.bytes + (w.usage.node_bytes || 0))), cell("Cost of death", (w.cost / Math.max(1, w.slots)).toFixed(1) + " worker-s"));
	row.onmouseenter = () => highlight(w.id);
	row.onmouseleave = () => highlight($("who").value);
	return row;
}

function drawWorkers() {
	const a = view.workers, body = $("wt").tBodies[0];
	fillRows(body, a.workers, w => w.id, workerRow);
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
	$("wlegend").replaceChildren(...[["computed", "Opened job"], ["other", "Other jobs"], ["retried", "Runs again"], ["", "Lost"]].map(([name, text]) => {
		const box = el("i", { className: name ? "" : "hatch" });
		if (name) box.style.background = `var(--${name})`;
		return el("span", {}, box, text);
	}));
}

on("workers", () => { noteRunning(); drawWorkers(); drawHolders(); });
