//go:build !race

package cli_test

// demoLimit makes the demo's job long enough to be interrupted.
const demoLimit = "2e10"
