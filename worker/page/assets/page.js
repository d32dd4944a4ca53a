"use strict";
// The theme, actions, and what begins the page.

const isDark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function setTheme(name) {
	if (name) document.documentElement.dataset.theme = name;
	const other = isDark() ? "Light" : "Dark";
	setText($("theme"), other);
	$("theme").ariaLabel = other + " colour scheme";
	readColours();
}

// drawAgain draws all canvases, for another theme or width.
function drawAgain() {
	if (view.cluster) drawTerms();
	if (view.opened && view.job) drawJob();
	if (view.opened && (view.map || view.samples)) drawMoment();
	if (view.workers) drawWorkers();
}

// act asks for the token and sends an action. The token is kept nowhere.
function act(title, path) {
	const dialog = $("ask");
	setText($("h-ask"), title);
	setText($("askyes"), title);
	setText($("asked"), "");
	$("token").value = "";
	$("askno").onclick = () => dialog.close();
	dialog.querySelector("form").onsubmit = async event => {
		event.preventDefault();
		try {
			const done = await ask(path, { method: "POST", headers: { Authorization: "Bearer " + $("token").value } });
			dialog.close();
			if (done.job) openJob(done.job);
			else connect(); // shows what has changed
		} catch (error) {
			setText($("asked"), error.message);
		}
	};
	dialog.showModal();
}

function save() {
	const query = new URLSearchParams({ show: view.show, find: view.find });
	if (view.opened) query.set("job", view.opened);
	const windows = view.opened && isLive() ? "&" + windowsWanted() : "";
	el("a", { href: API + "save?" + query + windows, download: "" }).click();
}

function setUp() {
	const query = new URLSearchParams(location.search);
	setTheme(query.has("dark") ? "dark" : query.has("light") ? "light" : "");
	$("theme").onclick = () => { setTheme(isDark() ? "light" : "dark"); drawAgain(); };
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { setTheme(); drawAgain(); });
	$("save").onclick = save;
	$("stepdown").onclick = () => act("Step down", "leader/step-down");
	for (const [id, title] of [["cancel", "Cancel job"], ["retry", "Retry job"], ["resubmit", "Resubmit job"]]) {
		$(id).onclick = () => act(title, `jobs/${view.opened}/${id}`);
	}
	setUpPlace();
	setUpJobs();
	setUpJob();
	setUpMap();
	setUpWorkers();
	drawRanges();
	addRoles(document);
	let width = innerWidth;
	addEventListener("resize", () => {
		if (width !== innerWidth) drawAgain();
		width = innerWidth;
	});
	document.addEventListener("visibilitychange", () => { if (!document.hidden) drawAgain(); });
	begin();
}

setUp();
