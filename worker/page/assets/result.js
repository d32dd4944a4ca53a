"use strict";
// The result of the opened job.

// MAX_ROWS is how many rows of a result the page shows.
const MAX_ROWS = 200;

const textOf = value => typeof value === "string" ? value : value === null ? "" : JSON.stringify(value);

// hasRows tells whether a result has rows and the names of their columns, as those of the job scan have.
const hasRows = r => Array.isArray(r?.columns) && Array.isArray(r?.rows) && r.rows.length > 0 && r.rows.every(Array.isArray);

// nameOf returns the name of a column, which may be an object with a name and a type.
const nameOf = column => typeof column?.name === "string" ? column.name : textOf(column);

// rowsOf shows the first rows of a result, in a box that scrolls.
function rowsOf({ columns, rows }) {
	const right = columns.map((_, i) => rows.every(r => typeof r[i] === "number") ? "n r" : "n");
	const table = el("table", {}, el("thead", {}, el("tr", {}, ...columns.map((c, i) => el("th", { className: right[i] }, nameOf(c))))),
		el("tbody", {}, ...rows.slice(0, MAX_ROWS).map(r => el("tr", {}, ...columns.map((_, i) => el("td", { className: right[i], "data-l": nameOf(columns[i]) }, textOf(r[i] ?? null)))))));
	addRoles(table);
	const box = el("div", { className: "rows", tabIndex: 0, role: "region", ariaLabel: "Rows of the result" }, table);
	return rows.length > MAX_ROWS ? [box, el("p", { className: "q s" }, `The first ${count(MAX_ROWS)} of ${plural("row", rows.length)}. The command result prints all.`)] : [box];
}

const NO_RESULT = { failed: "The job has failed, so it has no result.", cancelled: "The job was cancelled." };

// memberOf shows a member of a result. A text with several lines keeps them, and is folded after the first.
const memberOf = value => typeof value === "string" && value.includes("\n") ? longText(value, "n") : [textOf(value)];

function drawResult() {
	const j = view.job, result = $("result");
	const drawn = JSON.stringify([j.id, j.state, j.sha256]);
	if (result.dataset.drawn === drawn) return;
	result.dataset.drawn = drawn;
	if (j.state !== "completed") {
		result.replaceChildren(el("p", { className: "q" }, NO_RESULT[j.state] || "The result and its SHA-256 appear here when the job has completed."));
		return;
	}
	const isObject = j.result && typeof j.result === "object" && !Array.isArray(j.result), isTable = hasRows(j.result);
	const members = Object.entries(isObject ? j.result : { result: j.result ?? "larger than 64 KiB: read it with the command result" })
		.filter(([name]) => !isTable || name !== "columns" && name !== "rows");
	const table = el("table", { id: "rt" }, el("tbody", {}, ...members.map(([name, value]) => el("tr", {}, el("td", { className: "q" }, name), el("td", { className: "n r" }, ...memberOf(value))))));
	addRoles(table);
	result.replaceChildren(...(isTable ? rowsOf(j.result) : []), table, el("p", { className: "q s" }, "SHA-256"), command(j.sha256, "the SHA-256"));
}
