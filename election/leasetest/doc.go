// Package leasetest is what every driver of election.Lease is held to. The cases
// know the lease's duration only as a parameter, so they fit drivers whose
// storage expires leases by its own clock and drivers whose claimants do the
// waiting. Cases that wait for expiry take up to three durations.
package leasetest
