//go:build !race

package cli_test

// demoLimit makes the demo's job long enough for a failover during the job.
const demoLimit = "6e9"
