// Package leasetest is the conformance suite for drivers of election.Lease. The lease's duration is
// a parameter. The suite therefore works for drivers whose storage lets the lease expire and for
// drivers whose claimants measure the time. A case that waits for expiry takes up to three times
// the duration.
package leasetest
