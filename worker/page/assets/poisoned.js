"use strict";
// The submissions that no leader begins any more.

function poisonedRow({ entry: e, actions }) {
	const way = el("td", { className: "way" });
	if (actions) {
		const b = el("button", { ariaLabel: "Requeue " + e.name }, "Requeue");
		b.dataset.key = "poisoned-" + e.name;
		b.onclick = () => act("Requeue " + e.name, `poisoned/${encodeURIComponent(e.name)}/requeue`);
		way.append(b);
	} else {
		way.append(command(e.requeue, "the command that puts the submission back"));
	}
	return el("tr", {}, el("td", { className: "n" }, e.name), el("td", { className: "why" }, e.reason),
		el("td", { className: "n q" }, plural("time", e.deliveries) + (e.at ? `, ${e.at.slice(0, 19).replace("T", " ")} UTC` : "")), way);
}

function drawPoisoned() {
	const a = view.poisoned, actions = Boolean(view.cluster?.actions) && !view.saved;
	$("poisoned").hidden = !a.poisoned.length;
	fillRows($("pt").tBodies[0], a.poisoned.map(entry => ({ entry, actions })), item => item.entry.name, poisonedRow);
	setText($("morepoisoned"), a.more ? count(a.more) + " more" : "");
}

on("poisoned", drawPoisoned);
