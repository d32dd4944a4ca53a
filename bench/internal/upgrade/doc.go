// Package upgrade tests that a fleet changes its version while it works, and changes it back.
//
//	earlier commit ──git archive──▶ program ─┐
//	                                         ├─▶ 3 workers on one storage: earlier → later → earlier
//	this tree ─────────────────────▶ program ─┘
//
// The workers are replaced one after the other, the leader as the second. Its process is terminated in the upgrade and
// killed in the rollback. During this time a job of many partitions and a job with rounds run, and a third job waits for the
// first. The version that is replaced has submitted them. Their results must have the SHA-256 of a run in one process,
// and both versions must read them. Partials that one version has kept are reused by the other.
//
// The test runs with make upgrade-check. The earlier version is the last tag before this commit, or without tags the commit
// of the constant earlier.
//
// What can fail:
//
//   - The clone lacks the earlier commit, because it is shallow. The error has the command that fetches it.
//   - The jobs end before the last worker is replaced. The test fails, because it has shown nothing.
package upgrade
