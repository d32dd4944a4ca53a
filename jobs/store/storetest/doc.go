// Package storetest holds drivers of package store to the behaviour that its
// interfaces promise. A driver's tests call [TestBlobs] and [TestQueue] with a
// function that opens empty storage.
package storetest
