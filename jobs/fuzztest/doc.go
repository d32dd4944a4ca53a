// Package fuzztest checks that fuzz targets are useful. It is for Bellwether's own tests.
//
// A fuzz target starts from its seeds. After a change of the format all old seeds may be
// refused at the first byte; then the target finds nothing and passes. So [Watch] counts
// the seeds when they are run as tests: some have to be accepted and some refused.
//
// [Recode] is a fuzz target for formats that can be decoded and encoded. [Allocated]
// measures the memory that decoding an input allocates.
package fuzztest
