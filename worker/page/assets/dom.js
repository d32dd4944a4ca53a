"use strict";
// Elements of the page.

const $ = id => document.getElementById(id);

// el makes an element. Properties that the element does not have become attributes.
function el(tag, properties = {}, ...children) {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(properties)) {
		if (name in e) e[name] = value;
		else e.setAttribute(name, value);
	}
	e.append(...children);
	return e;
}

function svg(tag, attributes, ...children) {
	const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
	e.append(...children);
	return e;
}

const icon = name => svg("svg", { class: "i", "aria-hidden": "true" }, svg("use", { href: "#i-" + name }));
const small = text => el("small", {}, text);
const state = name => el("span", { className: "st " + name }, icon(name), name);

// setText changes the text only if it differs, so that a screen reader does not repeat it.
function setText(e, text) {
	if (e.textContent !== text) e.textContent = text;
}

// stats shows figures: rows of [name, value, explanation, extra element].
function stats(list, rows) {
	list.replaceChildren(...rows.map(([name, value, below, extra]) => el("div", {},
		el("dt", {}, name),
		el("dd", { className: "big" }, ...[value].flat()),
		el("dd", { className: "sub", title: below || "" }, below || "\u00a0", extra || ""))));
}

// choice shows a group of buttons of which one is pressed.
function choice(group, options, chosen, choose) {
	group.replaceChildren(...options.map(([value, label, note]) => {
		const b = el("button", {}, label);
		if (note) b.append(el("span", { className: "n" }, note));
		b.setAttribute("aria-pressed", value === chosen);
		b.onclick = () => choose(value);
		return b;
	}));
}

function copier(text, what) {
	const b = el("button", { className: "copy", ariaLabel: "Copy " + what }, "Copy");
	b.onclick = async () => {
		try {
			await navigator.clipboard.writeText(text);
			b.textContent = "Copied";
		} catch {
			b.textContent = "Not allowed";
		}
		setTimeout(() => { b.textContent = "Copy"; }, 1500);
	};
	return b;
}

const command = (text, what) => el("div", { className: "cmd" }, el("code", {}, text), copier(text, what));

// tip shows text beside the pointer, or hides it.
function tip(event, text) {
	const t = $("tip");
	t.hidden = !text;
	if (!text) return;
	t.textContent = text;
	const box = t.getBoundingClientRect();
	t.style.left = Math.max(8, Math.min(innerWidth - box.width - 8, event.clientX + 12)) + "px";
	const below = event.clientY + box.height + 24 <= innerHeight;
	t.style.top = (below ? event.clientY + 16 : event.clientY - box.height - 8) + "px";
}

// tipOn shows what textAt(x, y) says while the pointer is on a canvas.
function tipOn(canvas, textAt) {
	canvas.onmousemove = event => tip(event, textAt(event.offsetX, event.offsetY));
	canvas.onmouseleave = () => tip();
}

// Rows are grids in a narrow window. Roles keep them tables for a screen reader.
const ROLES = { table: "table", thead: "rowgroup", tbody: "rowgroup", tr: "row", th: "columnheader", td: "cell" };
function addRoles(root) {
	for (const [tag, role] of Object.entries(ROLES)) {
		for (const e of root.querySelectorAll(tag)) e.setAttribute("role", role);
		if (root.localName === tag) root.setAttribute("role", role);
	}
}
