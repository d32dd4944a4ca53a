"use strict";
// What the page shows, the overview or one job, and the address of that, which is a link that stays.

// address returns the link to a job, or to the overview with its filter. It keeps the theme.
function address(job) {
	const query = new URLSearchParams();
	for (const theme of ["light", "dark"]) if (new URLSearchParams(location.search).has(theme)) query.set(theme, "");
	if (job) query.set("job", job);
	else query.set("show", view.show);
	if (!job && view.find) query.set("find", view.find);
	return "?" + query.toString().replace(/=(?=&|$)/g, "");
}

// note makes the address of the browser that of what is shown, as a new entry of its history or in place of the last.
function note(isNew) {
	if (view.saved) return;
	const here = address(view.opened);
	if (here !== location.search) window.history[isNew ? "pushState" : "replaceState"](null, "", here);
}

// readAddress takes what to show from the address.
function readAddress() {
	const query = new URLSearchParams(location.search);
	view.opened = query.get("job") || "";
	view.show = SHOWS.some(([show]) => show === query.get("show")) ? query.get("show") : "all";
	view.find = query.get("find") || "";
	$("find").value = view.find;
}

// drawPlace shows the overview or the opened job.
function drawPlace() {
	document.body.classList.toggle("one", view.opened !== "");
	$("job").hidden = view.opened === "";
	$("back").href = address("");
	document.querySelector(".skip").href = view.opened ? "#job" : "#jobs";
	drawTitle();
}

function drawTitle() {
	const job = view.opened && (view.job ? `${view.job.name || view.job.job} ${view.opened} · ` : `Job ${view.opened} · `);
	document.title = job + document.querySelector("h1").textContent + " · Bellwether";
}

// forgetJob drops what is known of the job that was opened.
function forgetJob() {
	Object.assign(view, { job: null, map: null, samples: null, events: null, "job-error": "", "events-error": "" });
	progress = [];
	stopPlaying();
	replay = null;
	resetMap();
	setText($("h-job"), "Job");
}

// openJob opens a job.
function openJob(id) {
	if (view.saved && id !== view.saved.job?.id) return;
	if (id !== view.opened) {
		view.opened = id;
		if (!view.saved) {
			forgetJob();
			connect();
		}
		note(true);
		drawPlace();
		drawAgain();
	}
	scrollTo(0, 0);
	$("h-job").focus({ preventScroll: true });
}

// openOverview leaves the opened job.
function openOverview() {
	const left = view.opened;
	view.opened = "";
	if (!view.saved) {
		forgetJob();
		connect();
	}
	note(true);
	drawPlace();
	drawAgain();
	document.querySelector(`[data-key="job-${CSS.escape(left)}"]`)?.focus();
}

// followed handles a click on a link within the page. A click that opens another tab or window is the browser's.
function followed(go) {
	return event => {
		if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
		event.preventDefault();
		go();
	};
}

const jobLink = (id, text) => {
	const link = el("a", { href: address(id), className: "job" }, text);
	link.onclick = followed(() => openJob(id));
	return link;
};

function setUpPlace() {
	$("back").onclick = followed(openOverview);
	addEventListener("popstate", () => {
		readAddress();
		forgetJob();
		connect();
		drawPlace();
		drawAgain();
	});
	readAddress();
	drawPlace();
}
