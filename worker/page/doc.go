// Package page serves a web page that shows a running cluster, and the JSON API behind the page.
// Every worker with an HTTP address serves the page, and so does the command ui. Users of package
// worker need not import this package.
//
//	browsers, scripts
//	      │ HTTP: /, /api/v1/…, server-sent events
//	      ▼
//	    Page ── client ──┬─ the leader, over NATS   workers, rates, maps of partitions
//	                     └─ storage                 jobs, terms, samples, results
//
// A page keeps no state: it asks the leader for data that only the leader has, and reads other data
// from storage. The page therefore continues to work when the leader dies, and shows the history of
// jobs even if no worker runs. The page connects to the cluster at the first request.
//
// # The API
//
// All answers are JSON. The API answers the following GET requests:
//
//	/api/v1/cluster                 the leader and the figures of the cluster
//	/api/v1/workers?after=&limit=   workers by ID, with what each runs
//	/api/v1/terms?before=&limit=    changes of leader, newest first
//	/api/v1/throughput              how the jobs of the last 24 hours advanced
//	/api/v1/jobs?show=&find=&before=&limit=
//	                                jobs, newest first; show is all, active, ended or failed, and find
//	                                is a text in the ID, kind, name, labels, state or reason; also the
//	                                jobs that have failed and that nobody has retried
//	/api/v1/poisoned?after=&limit=  submissions that no leader begins any more, by name
//	/api/v1/jobs/ID                 a job, with its parameters, failures and result
//	/api/v1/jobs/ID/map?window=LO:STEP:CELLS&window=…
//	                                live figures of an active job, the running merges of its
//	                                large partials, and for each window how many partitions
//	                                of each cell are in which state
//	/api/v1/jobs/ID/samples         the job's life so far, from its checkpoint
//	/api/v1/jobs/ID/events          what has happened to a job: attempts that failed, workers that died
//	/api/v1/save?job=&window=       one HTML file with the page and its data
//	/api/v1/events?job=&show=&find=&before=&after=
//	                                server-sent events: each has the name and the data of an
//	                                answer above, and comes when the answer has changed
//
// The types whose names end in Answer document the members of the answers. A list has at most 100
// items, and its member next is the cursor of the next page. The size of an answer is bounded for
// any number of partitions, jobs and workers. Within v1 of the API, members may be added.
// JavaScript cannot represent all partition numbers above 2^53 exactly.
//
// If a Token is configured, clients can perform actions. Each action is a POST request with the
// header "Authorization: Bearer TOKEN":
//
//	/api/v1/jobs/ID/cancel, /api/v1/jobs/ID/retry, /api/v1/jobs/ID/resubmit, /api/v1/leader/step-down, /api/v1/poisoned/NAME/requeue
//
// An error answer has a status of 400 or above and the body {"error": "…"}.
//
// # Views
//
// The page shows the overview or one job. The address of each view is a link that stays: ?job=ID, or ?show= and ?find=
// of the list of jobs. Without any of them the page opens the only job that runs, unless a job has failed.
//
// # Who may read
//
// Everybody who can reach the address may read the page. The page does not show credentials, but it
// shows the parameters of jobs. Other web sites must not be able to read the page through the
// browser of a person who can reach the address. The page therefore refuses requests that another
// site sent, or whose Host may be a name that an attacker controls. The page does not load anything
// from other servers, has no inline scripts, and sets no cookies.
//
// # What can fail
//
//	no leader answers       The cluster has no leader in the answer, and an error. Terms, jobs
//	                        and samples still come from storage.
//	storage does not answer Answers from storage fail with 503. In a stream, an event such as
//	                        jobs-error has the error.
//	a job does not exist    A stream with a wrong ID of a job, or that of a removed job, has the event job-error.
//	a viewer is slow        It is dropped after 5 s, and connects again. The leader never waits
//	                        for viewers: it answers each question at most every 400 ms.
//	too many viewers        The 33rd stream of a process gets 503.
//	an older leader         Answers to questions that it does not know are null or empty.
package page
