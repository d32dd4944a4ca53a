// Package avro reads Avro object containers for package dataset.
//
//	header   magic, metadata with the schema and the codec, sync marker     ReadHeader ─▶ File
//	block    number of records, size, records, sync marker                  File.Block, File.Rows
//	block    …
//
// A reader that begins in the middle of an object searches for a sync marker, after which a block begins. Package dataset
// does that, because it knows which range belongs to a partition. The codecs are null, deflate, snappy, zstandard and
// bzip2.
//
// A value is returned as text, in the form of package form, so a column has the same values as in Parquet and CSV:
//
//	int, long, float, double            a decimal number; NaN, +Inf and -Inf
//	boolean                             true or false
//	string, bytes                       the text; the record is bad if it is not UTF-8
//	enum                                the symbol
//	fixed                               hexadecimal
//	null                                a missing value
//	union                               the value of its branch
//	decimal                             a decimal number
//	date, time-*                        2026-11-22, 21:04:00.5
//	timestamp-*, local-timestamp-*      2026-11-22T21:04:00.5Z
//	uuid, duration                      00112233-4455-6677-8899-aabbccddeeff, P14M3DT0.25S
//	record, array, map                  JSON text: the fields in the order of the schema, and the keys of a map sorted
//
// In JSON text, numbers and booleans are those of JSON, and all other values are strings. A path with dots names a field of
// a record in a record, or the value of a key of a map. The names of types are those of the schema with which an object was
// written; aliases and defaults have no effect, because they are for schemas of readers. The schema of an object is a record.
//
// # Limits
//
// A few bytes can claim billions of values, so memory grows only with the bytes that exist:
//
//   - The header has at most 16 MiB, a block at most 128 MiB, and 512 MiB when it is decompressed.
//   - The texts of a record have at most 64 MiB.
//   - A block has at most 16 values for each of its bytes, and 4,194,304 more. Values of the type null, and records without
//     fields, take no bytes. Values may be 1,000 deep.
//
// # What can fail
//
//   - The object is not Avro, or is damaged: a [DamagedError].
//   - A limit is exceeded, or the codec is unknown: an error that says so.
//   - A text is not UTF-8, or a map has a key twice: Rows.Err returns an error for the record, and the records after it can be
//     read.
package avro
