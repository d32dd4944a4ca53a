// Package azure is the storage driver for an Azure storage account. The type [Driver] implements
// both store.Blobs, in Blob Storage, and store.Queue, in Queue Storage. The package is internal to
// Bellwether.
//
// A cluster named C has two resources, which the first write creates:
//
//	bellwether-C   a container with one block blob per key; the key is the blob's name
//	bellwether-C   a queue of submissions
//
// The version of a value is the blob's ETag. A Put is one HTTP request, which is atomic and durable for a value
// of any size. The request has the condition If-Match or If-None-Match: *, or no condition.
//
// The queue's messages are text, so bodies are encoded in base64. A message that is not base64, for
// example a message that was sent by hand, is received unchanged. The receiver decides whether the
// message is a submission. Messages do not expire. Each Extend replaces the message's pop receipt,
// which Azure requires for a Delete. If the response to Extend is lost, the message is delivered
// again after its hide time, with a new receipt.
//
// # Requests
//
// Receive requests a message at once. If there is no message, Receive waits for 100 ms before the
// next request. The wait doubles after each request without a message, up to [Config.PollEvery] (2
// s). A waiting receiver therefore makes about 32 requests a minute and finds a submission within 2
// s. Only the leader calls Receive. Each Extend of a hidden message is one request. Get, Put,
// Delete and Send are one request each; List is one request per 5,000 keys.
//
// The table shows a leader's requests per minute on Azurite, by Azure's billing class. The numbers
// include the requests for a lease of 15 s. Followers make no requests. The columns with jobs are
// for running jobs. The beginning and the end of a job add a dozen requests.
//
//	                                       idle   one job   ten jobs of one priority
//	renew lease       other                  20        20        20
//	receive messages  queue, class 2         32        32        32
//	update message    queue, class 1                    6        60
//	put blob          write                            58        60
//
// BenchmarkAzureRequests in package bench measures the numbers of requests.
//
// # What can fail
//
//   - Storage is unreachable, slow or busy: the call returns store.ErrUnavailable within
//     [Config.CallTimeout] plus one second for each MiB of the value. The SDK retries within the
//     time limit. A try without a response may have taken effect. A Put with a condition may
//     therefore return store.ErrConflict because an earlier attempt of the same call took effect.
//   - Access is denied: the error is account.ErrDenied and contains a fix.
//   - The context of a Receive ends during a request that returns a message: Receive makes the
//     message visible again at once. The delivery count of the message is increased nevertheless.
//
// The driver was tested on Azurite 3.37, and not on Azure.
package azure
