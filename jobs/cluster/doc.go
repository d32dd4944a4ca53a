// Package cluster configures which cluster a process belongs to or asks, connects to its
// NATS server and opens its storage.
//
//	worker, jobs/client, cmd, bench
//	             |
//	          cluster            Config: name, NATS, storage; FromEnv
//	         /       \
//	 ConnectNATS   OpenStorage
//	     |          /       \
//	  nats.go   jetstream   azure (jobs/store/...)
//
// A [Config] is given in code, taken from the environment ([FromEnv]), or both
// ([Config.WithEnv] fills in the fields that are zero). [Config.Environ] is the
// reverse of FromEnv, for processes that this one starts.
//
// # What can fail
//
//	ErrConfig        a field or variable has a value that cannot work
//	ErrNoServer      no NATS server answers at any of the URLs
//	ErrUnauthorized  NATS refuses the credentials
//	ErrTLS           client and NATS server disagree about TLS
//	ErrUnavailable   storage does not answer
//	ErrDenied        storage answers and refuses access; the error says how to fix it
//
// No error contains a password, token, key or SAS.
package cluster
