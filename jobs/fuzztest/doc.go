// Package fuzztest checks that fuzz targets are useful. The package is for Bellwether's own tests.
//
// A fuzz target starts from its seeds. After a change of the format, the decoder may refuse all old
// seeds at the first byte, so that the target passes without testing anything. When the seeds are
// run as tests, [Watch] therefore checks that the decoder accepts some seeds and refuses other
// seeds.
//
// [Recode] is a fuzz target for formats that can be decoded and encoded. [Allocated]
// measures the memory that decoding an input allocates.
package fuzztest
