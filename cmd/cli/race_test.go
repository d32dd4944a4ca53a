//go:build race

package cli_test

// demoLimit makes the demo's job long enough for a failover during the job. The race detector makes
// the job thirty times slower.
const demoLimit = "1e8"
