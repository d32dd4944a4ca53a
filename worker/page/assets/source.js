"use strict";
// Where the data come from: the event stream of the API, or the answers in a saved file.

// view is what the page knows. Its answers have the forms that the API documents.
const view = {
	saved: null, // the answers of a saved file, or null
	now: Date.now(), // the server's clock at the last event
	heard: 0, // when the last event came, by this machine's clock
	problem: "", // why there are no events

	cluster: null, workers: null, terms: null, throughput: null, jobs: null, poisoned: null,
	job: null, map: null, samples: null, events: null, // of the opened job
	rates: [], // [server's time, partitions/s of the cluster], since the page was opened

	opened: "", // ID of the opened job
	show: "all", find: "", before: [], // the list of jobs: what it shows, and the cursors of the pages up to this one
	after: "", // the cursor of the page of workers
};

const API = "/api/v1/";
const EVENTS = ["cluster", "workers", "terms", "throughput", "jobs", "poisoned", "job", "map", "samples", "events", "problem"];
const ERRORS = ["terms-error", "throughput-error", "jobs-error", "poisoned-error", "job-error", "samples-error", "events-error"];
const RATES_KEPT = 2400; // 20 minutes
const SILENT_AFTER = 4000; // the server sends something every second

const listeners = {};

// on calls listen after each of the events, which are separated by spaces.
function on(events, listen) {
	for (const event of events.split(" ")) (listeners[event] ||= []).push(listen);
}

// plain replaces the characters of a text that are invisible or reorder other text by escapes, like the
// command line does on a terminal. Line ends, tabs and joiners stay.
const plain = text => text.replace(/[^\P{C}\n\t\u200c\u200d]|[\u2028\u2029]/gu, c => "\\u" + (c.codePointAt(0) > 0xffff ? `{${c.codePointAt(0).toString(16)}}` : c.charCodeAt(0).toString(16).padStart(4, "0")));

// harmless returns an answer in which all texts are plain. Texts in answers come from submitters and workers.
function harmless(value) {
	if (typeof value === "string") return plain(value);
	if (Array.isArray(value)) return value.map(harmless);
	if (value === null || typeof value !== "object") return value;
	return Object.fromEntries(Object.entries(value).map(([name, member]) => [plain(name), harmless(member)]));
}

const emit = event => (listeners[event] || []).forEach(listen => listen());

// take keeps an answer and tells the listeners.
function take(event, answer) {
	answer = harmless(answer);
	view.heard = Date.now();
	view.problem = event === "problem" ? answer.error : "";
	if (event.endsWith("-error")) {
		view[event] = answer.error;
		emit(event);
		return;
	}
	view[event] = answer;
	view[event + "-error"] = "";
	if (event === "cluster") {
		view.now = Date.parse(answer.now);
		view.rates.push([view.now, answer.totals ? answer.totals.rate : 0]);
		if (view.rates.length > RATES_KEPT) view.rates.shift();
	}
	emit(event);
}

// exactly parses JSON in which integers may have more digits than a number keeps, such as
// parameters and results. Those become strings, if the browser tells their text.
const exactly = text => JSON.parse(text, (name, value, context) => typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source) ? context.source : value);

let events = null; // the EventSource, or null while the page is not connected
let retryAt = 0, retries = 0, retryTimer = 0;

// connect opens the event stream for what the page shows now.
function connect() {
	if (view.saved) return;
	clearTimeout(retryTimer);
	if (events) events.close();
	const query = new URLSearchParams({ show: view.show });
	if (view.opened) query.set("job", view.opened);
	if (view.find) query.set("find", view.find);
	if (view.before.length) query.set("before", view.before.at(-1));
	if (view.after) query.set("after", view.after);
	events = new EventSource(API + "events?" + query);
	events.onopen = () => { retries = 0; };
	events.onerror = disconnected;
	for (const event of [...EVENTS, ...ERRORS]) {
		events.addEventListener(event, message => take(event, event === "job" ? exactly(message.data) : JSON.parse(message.data)));
	}
}

// disconnected connects again after a pause that grows to 5 s.
function disconnected() {
	if (events) events.close();
	events = null;
	const pause = Math.min(5000, 500 * 2 ** retries++);
	retryAt = Date.now() + pause;
	clearTimeout(retryTimer);
	retryTimer = setTimeout(connect, pause);
	emit("connection");
}

// watchConnection notices a stream that is open but silent.
function watchConnection() {
	if (events && view.heard && Date.now() - view.heard > SILENT_AFTER) disconnected();
	emit("connection");
}

// ask sends a request to the API and returns its answer, or throws the API's error.
async function ask(path, options = {}) {
	const response = await fetch(API + path, options);
	const answer = await response.json();
	if (!response.ok) throw new Error(plain(answer.error || "") || response.statusText);
	return answer;
}

// begin shows the saved answers, or connects.
function begin() {
	const saved = $("saved");
	if (!saved) {
		setInterval(watchConnection, 1000);
		connect();
		return;
	}
	view.saved = { ...JSON.parse(saved.textContent), job: exactly(saved.textContent).job };
	view.opened = view.saved.job ? view.saved.job.id : "";
	drawPlace();
	for (const event of ["terms", "cluster", "throughput", "jobs", "poisoned", "job", "samples", "map", "events", "workers"]) {
		if (view.saved[event]) take(event, view.saved[event]);
	}
	emit("connection");
}
