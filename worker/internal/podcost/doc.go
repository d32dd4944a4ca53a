// Package podcost tells Kubernetes how much work would be lost if this worker died, so that
// Kubernetes first deletes the pods that would lose the least work when it scales down a
// Deployment. The package writes the annotation controller.kubernetes.io/pod-deletion-cost of the
// worker's own pod.
//
// Each write is a request to the API server, which serves the whole Kubernetes cluster. To limit
// the number of requests, a worker writes its annotation at most every 30 s, and only if the cost
// has changed much.
//
// # What can fail
//
//	the process is not in a pod      New returns an error that names the missing variable or file.
//	the API server refuses or is     Logged once for each kind of answer, with what to do, and
//	away                             tried again later. The annotation keeps its last value.
package podcost
