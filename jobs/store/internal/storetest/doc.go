// Package storetest is the conformance suite for drivers of package store. A driver's tests
// call [TestBlobs] and [TestQueue] with a function that opens empty storage.
package storetest
