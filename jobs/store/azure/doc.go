// Package azure is the storage driver on an Azure storage account. Its [Driver] is
// both store.Blobs, in Blob Storage, and store.Queue, in Queue Storage.
//
// A cluster C has, each created when first written to:
//
//	bellwether-C   a container of block blobs, one per key, named like it
//	bellwether-C   a queue of submissions
//
// The ETag of a blob is the version. A Put is one request, atomic and durable
// whatever its size, with If-Match, If-None-Match: * or neither.
//
// A message's body is base64 in the queue, since messages are text there. A message
// that is not base64, sent by hand for instance, is received as it is; whether it is
// a submission is for its receiver to say. Messages never expire by themselves.
// Extend replaces the pop receipt, which is what Delete needs; where the answer to
// it is lost, the message is delivered again after its time, with a new receipt.
//
// # Requests
//
// Receive asks at once, and again as long as there was a message. Where there was
// none it waits, 100 ms first and twice as long each time, up to [Config.PollEvery]
// (2 s): a receiver that waits makes some 32 requests a minute, and sees a submission
// after 2 s at most. Only a leader receives. Each message hidden costs one request
// per Extend. All else costs one request per call: Get, Put, Delete, Send, and one
// per 5,000 keys for List. Package account counts them.
//
// What a leader costs on Azurite, lease included, in requests a minute by the class
// that Azure bills, with a lease of 15 s; followers make none. "Busy" is jobs that
// go on without an end in sight; a job's beginning and end cost a dozen more.
//
//	                                       idle   one job   ten jobs of one priority
//	renew lease       other                  20        20        20
//	receive messages  queue, class 2         32        32        32
//	update message    queue, class 1                    6        60
//	put blob          write                            58        60
//
// BenchmarkAzureRequests in package bench counts them.
//
// # What can fail
//
//   - Storage is away, slow or busy: the call returns store.ErrUnavailable within
//     [Config.CallTimeout], and one second more for each MiB of the value. The SDK
//     tries again within that. A try whose answer was lost may have been done: a Put
//     with a condition may so find its own write and return store.ErrConflict.
//   - Access is denied: the error, which is also account.ErrDenied, says what to do.
//   - A receiver's context is done while its request is under way, and the answer
//     brings a message: it is put back, visible at once, and counts as delivered.
//
// All of this was tried on Azurite 3.37 and on no Azure account.
package azure
