//go:build race

package cli_test

// demoLimit makes the demo's job last long enough for a failover in it. The race detector
// makes the job thirty times slower.
const demoLimit = "2e8"
