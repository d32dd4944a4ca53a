// Package kept keeps partials for later jobs, in the storage of a cluster or in a folder. Jobs find them by
// key: see jobs.Keyer and engine.Key.
//
//	jobs (a stack)
//	   │ Has, Get, Keep
//	Partials          the kept partials of one family: jobs of the same version, parameters and build
//	   │
//	store.Blobs       kept/FAMILY/ID    a pack's index: keys and sizes of partials, last use; replaced by compare-and-swap
//	                  packs/ID          a pack: neighbouring partials, each after its key; immutable
//	                  families/FAMILY   what the last job of the family depends on and reads, for dry runs alone
//
// A process writes neighbouring partials as one pack, first the pack and then its index. The ID of a pack is
// never reused, so a pack has the same bytes for as long as it exists. [Open] reads the indexes of a family,
// and [Partials.Get] reads a pack when a partial of it is needed.
//
// Kept partials only save work. All of them may be deleted at any time, and no failure here fails a job.
//
// # Dropping
//
// When a job has kept something, it drops packs that were not used for [Config.Lifetime], and then the packs
// that were not used for the longest time until all packs fit in [Config.Limit]. A job that uses a pack
// notes the time in the index, and a pack is dropped by deleting the version of the index that was read. If
// another job has noted a use in between, the pack stays. A process drops nothing if another one has written a
// pack later, because that process does.
//
// # What can fail, step by step
//
//	step                     what may be left      why that is safe
//	───────────────────────  ────────────────────  ───────────────────────────────────────────
//	write a pack             a pack without index  nothing finds it; a later sweep removes it
//	write its index          either                a late write adds partials that are whole
//	note a use               the old or new time   a conflict means that another job notes a use
//	delete the index         either                after it, no new job finds the pack
//	delete the pack          a pack without index  a later sweep removes it; a job that has read
//	                                               the index computes the partials
//	two jobs keep the same   two packs             the partials have the same bytes
//	write a description      the old one           a dry run says less, or something of an earlier job
//
// A pack has its SHA-256 in the index, which is checked when the pack is read. A pack that is missing or
// damaged is counted, and its partials are computed again.
package kept
