// Package leasetest is the conformance suite for drivers of election.Lease. The lease's duration is
// a parameter. So the suite can test drivers whose storage lets a lease expire by its own clock,
// and drivers whose claimants measure the time. A case that waits for expiry takes up to three
// times the duration.
package leasetest
