// Package hostile tests a cluster of real processes with jobs that misbehave on purpose. The
// functions are Plan, Open, Fork, Map, Merge and Finish of a definition, Encode and Decode of its
// codec, and Close of its mapper. Each function misbehaves in each of eight ways:
//
//	exit       end the process
//	panic      panic in another goroutine, which ends the process
//	overflow   overflow the stack, which ends the process after a traceback that takes time
//	allocate   allocate until the process reaches its memory limit
//	goexit     call runtime.Goexit
//	hang       do not return, even if the context is done
//	slow       take a long time
//	garbage    return an invalid value
//
// A supervisor restarts each worker that ends. For each case the tests check:
//
//   - The job fails with an error that names the function and its misbehaviour. A slow job, and a
//     job whose Close misbehaves, completes.
//   - At most five worker processes die because of a hostile job.
//   - Another job continues at no less than half of its normal speed. The normal speed is measured
//     on the same cluster without a hostile job, and is measured again after a case that seems
//     slow.
//   - Other jobs can be cancelled at any time, and the median cancellation takes at most 2 s.
//   - All workers end on SIGTERM even while code of a job hangs in them.
//
// In a last case Plan hangs in all slots of all workers. The status of another job says so, and the
// job completes.
//
// After all cases the other job must complete with the same result as without a hostile job.
//
// # Running it
//
//	make hostile STORAGE=azure CASE=open_exit
//
// The ordinary tests run only some of the cases, one for each mechanism of protection, on
// JetStream.
package hostile
