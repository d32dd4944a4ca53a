// Package fuzztest holds fuzz targets to what makes them worth running.
//
// A target starts from its seeds. Once a format has changed, its old seeds may all
// be refused at the first byte; the target then finds nothing, and passes. So
// [Watch] counts what becomes of the seeds whenever they are run as tests: some
// must be taken, and some refused.
//
// [Recode] is the target of anything that decodes and encodes, and [Allocated]
// measures what input costs.
package fuzztest
