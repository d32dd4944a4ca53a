// Package fuzztest checks that fuzz targets are useful. It is for Bellwether's own tests.
//
// A fuzz target starts from its seeds. After a change of the format, the target may refuse
// all old seeds at the first byte, find nothing and pass. So when the seeds are run as
// tests, [Watch] checks that some seeds are accepted and some are refused.
//
// [Recode] is a fuzz target for formats that can be decoded and encoded. [Allocated]
// measures the memory that decoding an input allocates.
package fuzztest
