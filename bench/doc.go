// Package bench measures Bellwether on real worker processes and a NATS server
// that syncs to disk, all on this machine. What it compares, it compares in one
// run: machines differ, and so does the same machine from one minute to the next.
//
// Run it with
//
//	make bench
//
// Each benchmark reports its figures as metrics of its own; ns/op says little.
package bench
