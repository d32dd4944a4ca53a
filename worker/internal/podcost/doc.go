// Package podcost tells Kubernetes what the death of a worker would cost, so that a
// Deployment that is scaled down deletes the cheapest pods first. It writes the annotation
// controller.kubernetes.io/pod-deletion-cost of the worker's own pod.
//
// Each write is a request to the API server of the whole Kubernetes cluster, so an
// annotation is written at most every 30 s, and only if the cost has changed much.
//
// # What can fail
//
//	the process is not in a pod      New returns an error that names the missing variable or file.
//	the API server refuses or is     Logged once for each kind of answer, with what to do, and
//	away                             tried again later. The annotation keeps its last value.
package podcost
