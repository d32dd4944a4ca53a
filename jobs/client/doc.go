// Package client submits jobs to a Bellwether cluster from a Go program, follows the
// jobs, and reads their results. The command line is built on package client.
//
//	your program      cmd/cli      bench
//	         \           |          /
//	          client: Submit, Watch, Result …
//	          /                    \
//	the leader, over NATS       storage: specs, checkpoints, results
//
// A [Client] asks the leader for data that only the leader has: workers, rates, live progress, cancellation.
// The client uses storage for everything else, so a program can submit jobs, look up their states and read
// results while there is no leader. Storage is opened when a method first needs it.
//
//	Submit, Retry, Resubmit          storage, and the leader if it answers
//	Status, List, Each, Watch, Wait  storage, and the leader if it answers
//	Result, Outcome, History,        storage
//	WriteAttachment
//	Remove, Poisoned, Requeue        storage
//	Cancel                           storage, then the leader
//	Progress, Workers, Leader,       the leader
//	LeaderAfter, StepDown
//
// The methods may be called from several goroutines.
//
// # What can fail
//
// Connect fails with the errors ErrConfig, ErrNoServer, ErrUnauthorized, ErrTLS and ErrPayload of
// package cluster. All other methods of a Client fail with these errors:
//
//	ErrNoLeader     no leader answered within Config.Timeout
//	ErrUnused       no worker has used the cluster's storage: its name is misspelt, no worker has ever
//	                run, or the stored data of running workers was lost
//	ErrUnknown      no worker of the cluster runs the job, so Submit refuses it
//	ErrOtherStorage the leader uses another storage than the client, so it would never see
//	                the client's jobs: one of them is misconfigured
//	ErrUnavailable  storage does not answer
//	ErrDenied       storage refuses access
//	ErrNotFound     the cluster has no such job, or no such poisoned submission
//	ErrAmbiguous    several jobs' IDs begin with the prefix
//	ErrInvalid      options or parameters that the job does not take
//	ErrNotEnded     the job has not ended, so it has no result and cannot be removed
//	ErrEnded        the job has ended, so it cannot be cancelled
//	ErrFailed       the job failed; a *JobError has its message
//	ErrCancelled    the job was cancelled
//	ErrDamaged      a stored record is damaged, or was written by a later version
//	                (then the error is ErrNewer too)
//
// A call that fails with ErrUnavailable or ErrNoLeader may have taken effect. Submit gives the job
// a new ID at each call, so a retry after one of these two errors can run the job twice. Every
// other method can be retried.
package client
