// Package dataset is for jobs over records: the rows of CSV files, the lines of logs, JSON
// objects, in files, in Azure blobs or on web servers. A [Job] says what to do with one record;
// [Define] makes a definition of package jobs from it:
//
//	var job = dataset.Job[dataset.Input, map[string]*mean, map[string]float64]{
//		Name: "mean", Version: "1", Summary: "mean temperature by station",
//		Defaults: dataset.Defaults(),
//		Columns:  func(dataset.Input) []string { return []string{"station", "temperature"} },
//		Start:    func() map[string]*mean { return map[string]*mean{} },
//		Fold:     func(acc *map[string]*mean, r *dataset.Record) error { … },
//		Merge:    func(left, right map[string]*mean) (map[string]*mean, error) { … },
//		Finish:   func(ctx context.Context, in dataset.Input, acc map[string]*mean, _ dataset.Totals) (map[string]float64, error) { … },
//	}
//
//	func main() { cli.Main(jobs.MustNew(dataset.Define(job))) }
//
// The package example is the complete job.
//
// # A dataset
//
// A dataset is a listing of objects that is pinned when the job is planned: their names, sorted,
// with size and ETag or time of modification. It is a part of the plan, so all workers and later
// leaders read the same bytes. An object that changes fails the job by its name.
//
//	objects      a.csv                      b.csv  c.csv   d.csv.gz
//	             ├────────┬────────┬───────┤├──────┬──────┤├──────────────────┤
//	partitions   │   0    │   1    │   2   ││      3      ││        4         │
//
// Partitions are ranges of about Input.Block bytes. Small objects share a partition. A compressed
// object cannot be read from its middle, so it is never cut: write large data in several objects if
// you compress it. The cut depends on the listing and the block size alone.
//
// # Exact at every split
//
// A range begins and ends in the middle of records. Merges happen in order and only between
// neighbours, so a partial keeps both ends, and Merge folds the record at the border:
//
//	bytes      …,3.1\nOslo,2.5\nLi|ma,19.0\nRome,15.2\nCa|iro,30.1\n…
//	partial               … tail  | head    folded     tail|  head …
//	Merge                    Lima,19.0                 Cairo,30.1
//
// So no byte is read twice because of a border, and a record may be longer than a partition.
//
// What a range of CSV means depends on whether it begins inside a quoted field. A range in the
// middle of an object therefore has two readings. Every quote ends or begins quoted text (a doubled
// quote does both), so a range ends inside quotes under exactly one of its readings, and Merge
// continues each reading of the left range with the matching reading of the right range:
//
//	left                   right                     merged
//	outside → inside       outside → outside         outside → inside  (left's 1st, right's 2nd)
//	inside  → outside      inside  → inside          inside  → outside (left's 2nd, right's 1st)
//
// The second reading costs something only where there are quotes: without one, a range that
// begins inside quotes is part of one long field. With quotes, the wrong reading soon meets text after
// the end of a quoted field, or a wrong number of fields, and is dropped. The beginning of an object
// is outside quotes for certain. If a reading may be wrong, a head or tail above 256 KiB is kept as
// an offset and a length. Only if the reading turns out to be right, Finish reads these bytes again.
//
// The rows are those of encoding/csv, except that a line end within quotes stays as it is.
//
// # Sums
//
// A sum of floats depends on the order of its additions, so another block size may give another
// last digit, although the number of workers never does. A job whose accumulators are exact
// (integers, minima, counts, sums of integers) gives the same result for every block size.
//
// # What can fail
//
//   - An object is missing, or access is denied: an error with its name. The partition is tried again on
//     another worker, which may have other credentials.
//   - Storage is busy (429, 503), or a connection breaks: reading continues at the next byte, after
//     pauses of 0.1 s to 3.2 s. After six retries without a byte, the partition fails and is tried
//     again.
//   - An object changed after it was listed: the job fails.
//   - The content is bad (a [Fault]: wrong number of fields, quote out of place, no UTF-8, no JSON,
//     truncated compression, another header, an error of Fold): the job fails, with the object, the
//     offset of the record, and what to do. If Input.OnError is skip, such records are counted in
//     [Totals] instead. A header that differs, damaged compression, and an odd number of quotes in an object
//     fail the job even then.
//   - No object matches: the plan fails. Empty objects, and objects with a header alone, have no
//     records.
//   - A secret is in a parameter, such as the signature of a SAS: refused, since parameters are
//     stored. Workers sign in with their environment: see [Open].
//   - A partition was skipped within an object (submit --max-skipped): Merge fails, because the
//     records at its borders are lost.
//
// Whoever may submit a job over records can read the files that the workers may read. Set
// Job.Restricted if submitters must not.
package dataset
