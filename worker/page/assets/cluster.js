"use strict";
// The header, the notice and the figures of the cluster.

const latencies = { storage: [], nats: [] }; // milliseconds, of the last minute

function spark(values) {
	const max = Math.max(...values);
	const points = values.map((v, i) => (i * 64 / Math.max(1, values.length - 1)).toFixed(1) + "," + (15 - v / max * 14).toFixed(1));
	return svg("svg", { class: "spark", viewBox: "0 0 64 16", "aria-hidden": "true" }, svg("polyline", { points: points.join(" ") }));
}

function latency(name, values, answers) {
	if (!answers) return [name, "no answer", ""];
	if (!values.length) return [name, "–", ""];
	const last = values.at(-1);
	return [name, [last < 10 ? last.toFixed(1) : count(last), " ", small("ms")], "most " + Math.max(...values).toFixed(1), spark(values)];
}

function remember(list, value) {
	list.push(value);
	if (list.length > 60) list.shift();
}

// kinds names the version and the build that the workers have, or how many there are.
function kinds(totals) {
	const versions = totals.versions || [], builds = totals.builds || [];
	return [
		versions.length > 1 ? plural("version", versions.length + totals.other_versions) : versions[0]?.version,
		builds.length > 1 ? plural("build", builds.length + totals.other_builds) : builds[0]?.build,
	].filter(Boolean).join(", ");
}

function drawCluster() {
	const c = view.cluster, t = c.totals;
	setText($("storage"), c.storage);
	setText($("made"), t ? kinds(t) : "");
	$("stepdown").hidden = !c.actions || Boolean(view.saved);
	if (c.leader) remember(latencies.nats, c.nats_ms);
	const unknown = [["–"], "no leader answers"];
	stats($("cluster"), [
		["Workers", ...(t ? [count(t.workers), [t.draining && t.draining + " draining", t.silent && t.silent + " silent"].filter(Boolean).join(", ") || "none draining"] : unknown)],
		["Slots busy", ...(t ? [[count(t.busy) + " ", small("of " + count(t.slots) + " usable")], t.lost ? t.lost + " lost" : "none lost"] : unknown)],
		["Jobs", ...(t ? [[count(t.running) + " ", small("running")], [t.planning && t.planning + " planning", t.queued && t.queued + " queued", t.waiting && t.waiting + " waiting"].filter(Boolean).join(", ") || "none waits"] : unknown)],
		["Throughput", ...(t ? [[short(t.rate), small("/s")], "memory " + bytes(t.memory)] : unknown)],
		["Leader", c.leader ? el("span", { title: c.leader.worker }, c.leader.worker) : "none", c.leader ? "since " + span(Math.max(0, view.now - Date.parse(c.leader.since)) / 1000) + ", epoch " + c.leader.epoch : "for " + span((view.now - leaderlessSince()) / 1000)],
		latency(c.storage, latencies.storage, !view["terms-error"]),
		latency("NATS", latencies.nats, Boolean(c.leader)),
	]);
}

let lastLed = 0; // the server's time when a leader last answered

function leaderlessSince() { return lastLed || view.now; }

function drawConnection() {
	const conn = $("conn"), notice = $("notice");
	if (view.saved) {
		document.body.classList.add("saved");
		if (!conn.childNodes.length) conn.append("Saved at " + view.saved.at.slice(0, 19).replace("T", " ") + " UTC");
		return;
	}
	const away = !events || !view.heard, text = away ? view.heard ? "Reconnecting" : "Connecting" : view.cluster && !view.cluster.leader ? "No leader" : "Live";
	document.body.classList.toggle("away", away || text === "No leader");
	if (conn.dataset.text !== text) {
		conn.dataset.text = text;
		conn.replaceChildren(icon(text === "Live" ? "live" : "away"), text);
	}
	const problem = away && view.heard ? "connection" : view.problem ? "problem" : "";
	if (notice.dataset.problem === problem) return;
	notice.dataset.problem = problem;
	notice.hidden = !problem;
	if (problem === "connection") {
		const again = el("button", {}, "Connect now");
		again.onclick = connect;
		notice.replaceChildren(`Connection lost. This page shows ${clock(view.now)} UTC and connects again by itself.`, again);
	} else {
		notice.replaceChildren("The cluster does not answer this worker: " + view.problem);
	}
}

on("cluster", () => {
	if (view.cluster.leader) lastLed = view.now;
	drawCluster();
	drawConnection();
});
on("terms", () => remember(latencies.storage, view.terms.storage_ms));
on("connection problem", drawConnection);
