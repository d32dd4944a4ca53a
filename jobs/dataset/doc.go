// Package dataset is for jobs that read records. Records are the rows of CSV and Parquet files, the
// records of Avro files, the lines of logs, or JSON objects, in files, in Azure blobs or on web servers. A [Job] says what to do with
// one record, and [Define] makes a definition of package jobs from the Job:
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
// The first example of this package shows the complete job. A job with more parameters has a struct that
// embeds [Input], as the second example shows.
//
// # A dataset
//
// A dataset is a list of objects that is made when the job is planned. The list contains the sorted
// names of the objects, with the size and the ETag or time of modification of each object. The list
// is a part of the plan, so all workers and later leaders read the same bytes. If an object
// changes, the job fails with an error that names the object.
//
//	objects      a.csv                      b.csv  c.csv   d.csv.gz
//	             ├────────┬────────┬───────┤├──────┬──────┤├──────────────────┤
//	partitions   │   0    │   1    │   2   ││      3      ││        4         │
//
// A folder selects the objects below it. It leaves out objects whose name, or the name of a folder on the
// way to them, begins with a dot, or begins with an underscore and contains no =. Spark and Hadoop give such
// names to markers and temporary files. A pattern or a full name selects these objects.
//
// Partitions are ranges of about Input.Block bytes. Small objects share a partition. A compressed
// object cannot be read from its middle, so it is never cut, unless the program bgzip has written it. Other large
// compressed data should be divided into several objects. The partitions depend only on the list of objects, on the block
// size, and on the first bytes of objects that may be of bgzip.
//
// # bgzip
//
// An object whose name ends in .gz and which begins with a member of bgzip consists of members of gzip of at most 64 KiB, and the
// header of each has its size. So a range can find its first member, and all workers read one object together. An index is not
// needed, and .gzi objects are not read; their names select no format, so a pattern such as *.gz should leave them out. All members
// must be of bgzip: other members of gzip after them, padding and damage fail the job with an error that names the object and
// the stored offset. Each member's size and CRC are checked. The empty member at the end may be missing, as it may for bgzip, so
// an object that was truncated between two members is not noticed. The offsets of records are those of the member, and in its content.
// Objects of several other members of gzip are read as a whole. Objects in UTF-16 and those of exec are too.
//
// While a slot computes a partition, it requests the beginning of the partition that the process
// will probably compute next, unless the objects are files or Parquet. A slot reads at most three
// requests at the same time, and each request keeps at most 2.5 MiB in memory.
//
// A Parquet object is cut like text, but a row group belongs to the partition in whose range it
// begins. Each partition reads the footer and the columns that the job needs, so the plan contains
// no list of row groups. If row groups are larger than blocks, some partitions have no rows.
//
// An Avro object is cut like text too. Each of its blocks begins after a sync marker, and belongs to the partition in whose
// range this marker begins. A partition in the middle of an object searches for the first marker, and reads on after its
// range to the end of its last block:
//
//	bytes        header M block M bl|ock M block| M block M
//	partitions        0            0      1         2
//
// Records may contain the marker, if only because somebody wrote it there. The partition that reads the
// block in which a range ends therefore checks that no marker in the block begins after the end, and otherwise the job
// fails. So no cut changes the records.
//
// # Exact at every split
//
// A range usually begins and ends in the middle of a record. A partial therefore contains the
// incomplete records at both ends of its range. Only partials of neighbouring ranges are merged, so
// Merge can put the two parts of the record at the border together, and fold the record:
//
//	bytes      …,3.1\nOslo,2.5\nLi|ma,19.0\nRome,15.2\nCa|iro,30.1\n…
//	partial               … tail  | head    folded     tail|  head …
//	Merge                    Lima,19.0                 Cairo,30.1
//
// No byte has to be read twice because of a border, and a record may be longer than a partition.
//
// The meaning of a range of CSV depends on whether the range begins inside a quoted field. It is
// unknown whether a range in the middle of an object begins inside quotes, so the range has two
// readings, one for each case. Every quote begins or ends quoted text (a doubled quote does both),
// so a range ends inside quotes in exactly one of its two readings. Merge joins each reading of the
// left range with one reading of the right range. The right reading begins inside quotes if and
// only if the left reading ends inside quotes:
//
//	left                   right                     merged
//	outside → inside       outside → outside         outside → inside  (left's 1st, right's 2nd)
//	inside  → outside      inside  → inside          inside  → outside (left's 2nd, right's 1st)
//
// The second reading of a range costs little. In a range without quotes, the reading that begins
// inside quotes is a part of one long field. In a range with quotes, the wrong reading soon finds
// text after the end of a quoted field, or a wrong number of fields, and is dropped. The beginning
// of an object is always outside quotes, so it has only one reading. While a reading may be wrong,
// an incomplete record of more than 256 KiB at one of its ends is kept only as an offset and a
// length. If the reading is right, Finish reads the bytes of the record again.
//
// A record has at most 64 MiB, and an object has at most 100,000 columns, so that a small compressed object
// cannot take all memory of a worker. A larger record, or more columns, fails the job with an error that
// names the limit. The content of a compressed object is refused above 1 GiB and 2,000 times the
// compressed size together, and zstd with a window of more than 128 MiB.
//
// Rows are divided into fields like in package encoding/csv, but line ends within quotes do not
// change. An empty line is not a record, except in an object of one column, in which it is an empty field,
// also as the last line.
//
// # CSV as it is
//
// Parameters describe how other programs have written the fields and records of CSV and TSV. They are the same for all
// objects of a job:
//
//	encoding=latin-1  the text is not UTF-8 but latin-1, windows-1252 or utf-16, also of the format lines
//	null=NA,-         fields that are missing values, also in quotes; a missing value is an empty field for each job
//	comment=#         lines that begin with the character are not records, also before the header
//	trim=true         spaces and tabs around fields and names are left out, but not those within quotes
//	decimal=,         numbers have a comma before the decimals
//	thousands=.       numbers may have a point between groups of three digits
//
// Record.Field returns a number in the notation of decimal and thousands as other inputs have it: 1.234,5 is 1234.5. A field
// that is no number in the notation, such as 01.02.2026, is text as it is. It is also no number for Record.Float and
// Record.Number if it looks like one in another notation, as 1.5 does with a decimal comma, so that no value is read
// wrongly without an error.
//
// A record in latin-1 or windows-1252 is decoded on its own. An object in UTF-16 is decoded from its beginning, so it is
// never cut, and the offsets in errors are those in UTF-8.
//
// A comment line may be where a record may begin. Quotes in it count as in other lines, because a range that begins in
// the middle of an object cannot tell what it begins in. A comment line therefore has an even number of quotes, or the
// job fails, unless the parameter quote is empty. The comment lines before the header, and the header, are in the first
// block of an object.
//
// # Rounds
//
// A job that passes over the records several times is a [Rounds]. A worker reads the records of a partition once, with
// the job's Read, and keeps the rows for the next rounds in a jobs.Cache. [DefineRounds] makes a definition of package
// jobs from it:
//
//	var job = dataset.Rounds[dataset.Input, []float64, state, sums, result]{
//		Name: "fit", Version: "1", Summary: "a fit", Defaults: dataset.Defaults(),
//		Columns: func(dataset.Input) []string { return []string{"x", "y"} },
//		Read:    func(rows *[]float64, r *dataset.Record) error { … },
//		Size:    func(rows []float64) int64 { return 8 * int64(cap(rows)) },
//		Map:     func(ctx context.Context, in dataset.Input, s state, at dataset.Place, rows []float64) (sums, error) { … },
//		…
//	}
//
//	func main() { cli.Main(jobs.MustNewRounds(dataset.DefineRounds(job))) }
//
// Map needs whole records, so a partition has the records that begin in its range, and reads on after the range to the
// end of the last one. A range of CSV that may begin inside quotes has two readings, as above. A partition takes the
// reading that begins outside quotes, unless this reading has a fault, or skips more records than the other. Merge
// checks that the reading of each range ends as the reading of the next range begins. If they differ, the job fails,
// because a quoted field is longer than a block or looks like records. A larger block helps, or the parameter quote if
// quotes enclose no fields.
//
// # Names of columns
//
// A job that uses a column whose name two columns of an object have, or uses all columns of such an
// object, is refused with the positions of both columns. The parameter names gives the columns of CSV
// and TSV other names.
//
// With the parameter union=by-name, the columns of CSV and TSV objects with headers, and of Parquet objects, may differ in order and
// number. The job's columns are then those of all objects, in the order in which the objects have them first, and a
// column that an object lacks is a missing value in its records, or the column of its path with this name. The plan reads
// the header or the footer of each object, and contains at most 1,000 different lists of columns. A column of Parquet
// whose types are of different kinds in two objects is refused with the names of both; integers, decimals and floats are
// of one kind. Without the parameter, another header than that of the first object fails the job, as does a Parquet object
// that lacks a column. The members of JSON objects are always found by name.
//
// The name of a member of a JSON object in another is the path with dots, such as a.b. A record in which two
// members that the job uses have one name is bad. If the value on the way is not an object, the member is missing.
//
// The name of a column of Parquet in a group is the path with dots too. A list or a map is one column, whose value is JSON
// text, also if it contains groups. Two columns that have one name are refused if a job uses them.
//
// The columns of Avro objects are the fields of the schema's record. The path with dots of a field of a record in another,
// or of a key of a map, is a column too, for jobs that name it: Properties.host is the value of the key host. A path that no
// field or map of the schema can have is refused. Records, arrays and maps are JSON text, in which the keys of maps are
// sorted. Package avro lists the types, and the function json of package scan reads members of JSON in a text.
//
// A job that uses all columns of JSON objects uses the members in the first 64 KiB of the first object
// that has records, in their order, and those in the parameter names. A record with another member is bad. A
// job that uses some members is refused if no record in the first MiB of this object has one of them, unless
// the parameter names contains the member.
//
// # Columns of paths
//
// A folder whose name has the form column=value, as Hive, Spark and Azure's diagnostic logs name them, is a column of
// all records below it: logs/y=2026/m=11/d=25/x.csv has the columns y, m and d. The value is text, without the escapes
// of special characters such as %3A, and __HIVE_DEFAULT_PARTITION__ is a missing value. Of two folders with one name, the
// first counts, and a column of the objects hides a column of their paths. For JSON objects, the first MiB of the first
// object that has records shows which members they have.
//
// A job that uses all columns uses the columns that are in the paths of all objects after those of the objects. A job
// that names a column is refused if only the paths of some objects contain it. Each record also has the column _object,
// the name of its object, for jobs that name it.
//
// # Outputs
//
// A job may write large parts of its accumulators to storage with Job.Store and package output. The
// name job:ID selects the objects that the job ID has written.
//
// # Sums
//
// A sum of floats depends on the order of the additions. The order depends on the block size but
// not on the number of workers, so another block size may change the last digit of a sum. A job
// whose accumulators are exact (integers, minima, counts, sums of integers) gives the same result
// for every block size.
//
// # What can fail
//
//   - An object is missing, or access is denied: the error names the object. The partition is
//     retried on another worker, which may have other credentials.
//   - An account of storage throttles requests (status 429 or 503): all slots of the process together
//     send it fewer requests at the same time, and again more when it permits them. Reading continues, also
//     for hours, so a partition is not retried for this. If nothing arrives from the account for 5 minutes, the read fails.
//     The objects of an input may be in several accounts, which then do not slow down one another. An
//     account is a host in the objects' URLs.
//   - A connection breaks, storage answers with another error, or a server sends no byte for 30 s: reading
//     continues at the next byte, after pauses of 0.1 s to 3.2 s. After six retries without a byte,
//     the partition fails and is retried.
//   - An object changed after it was listed: the job fails.
//   - The content is bad, which is a [Fault]: the job fails. Examples are a wrong number of fields,
//     a quote in a wrong place, text that is not UTF-8 or JSON, truncated compressed data, bytes
//     after compressed data (zero bytes after gzip are padding), a different header, and an error
//     of Fold. The error contains the name of the object, the offset of the record, or of its row group or
//     Avro block, and what to do. If Input.OnError is skip, bad records are skipped and counted in [Totals] instead. Different
//     headers, damaged compressed data, Parquet and Avro, records of more than 64 MiB, an odd number of quotes in an
//     object or a comment line, line ends that are only carriage returns, and UTF-16 that is
//     damaged or for which the parameter encoding is not given always fail the job.
//   - A [Rounds] cannot tell whether a range of CSV begins inside quotes: the error names the object and the offset of
//     the range, and says what to change.
//   - The parameters do not fit the input, for example because a column does not exist: the plan
//     fails. The process that submits the job plans it too, and refuses the job if it can read the
//     input.
//   - No object matches: the plan fails. An object that is empty or contains only a header has no
//     records, which is not an error.
//   - A parameter contains a secret, such as the signature of a SAS: the job is refused, because
//     parameters are stored. Workers read with the credentials of their cluster ([Open]).
//   - A partition within an object was skipped (submit --max-skipped): Merge fails, because the
//     records at the borders of the partition are incomplete.
//
// A client that may submit a job of this package can read all that the workers let jobs read, and
// can create objects there if the job has an output: files in the folders, and blobs in the
// containers, of jobs.Grant, and web servers. A worker gets the grant from its configuration, and
// jobs.Local from its caller. By default there are no folders and no containers, and of the web
// servers those with public addresses, by https. The cluster's own container is always refused. The
// command "bellwether worker" has the flags --files, --containers and --web.
package dataset
