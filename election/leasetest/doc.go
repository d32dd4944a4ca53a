// Package leasetest is the conformance suite for drivers of election.Lease. The
// lease's duration is a parameter, so the cases fit drivers whose storage expires
// leases by its own clock, and drivers whose claimants measure the time. A case that
// waits for expiry takes up to three durations.
package leasetest
