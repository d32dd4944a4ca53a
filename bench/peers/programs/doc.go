// Package programs measures jobs that run programs and modules: how fast calls are made, beside GNU parallel
// and xargs, how fast a module is beside a program of the same source, and how much faster two cores
// count words than one process.
package programs
