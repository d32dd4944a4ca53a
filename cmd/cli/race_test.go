//go:build race

package cli_test

// demoLimit makes the demo's job long enough to be interrupted. The race detector
// slows it down thirty times.
const demoLimit = "5e8"
