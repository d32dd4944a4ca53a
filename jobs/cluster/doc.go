// Package cluster contains the configuration of a cluster, connects to the cluster's NATS server
// and opens the cluster's storage.
//
//	worker, jobs/client, cmd, bench
//	             |
//	          cluster            Config: name, NATS, storage; FromEnv
//	         /       \
//	 ConnectNATS   OpenStorage
//	     |          /       \
//	  nats.go   jetstream   azure (jobs/store/...)
//
// A [Config] is set in code or read from the environment ([FromEnv]). [Config.WithEnv] sets the
// fields that are zero from the environment. [Config.Environ] returns the environment variables for
// a child process. [With] puts a Config into a context, from which the code of jobs gets it ([Of]).
//
// # What can fail
//
//	ErrConfig        a field or environment variable has an invalid value
//	ErrNoServer      no NATS server answers at any of the URLs
//	ErrUnauthorized  NATS refuses the credentials
//	ErrTLS           client and NATS server disagree about TLS
//	ErrUnavailable   storage does not answer
//	ErrDenied        storage answers and refuses access; the error says how to fix it
//
// No error contains a password, token, key or SAS.
package cluster
