//go:build !race

package cli_test

// demoLimit makes the demo's job last long enough for a failover in it.
const demoLimit = "6e9"
