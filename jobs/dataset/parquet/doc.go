// Package parquet reads and writes Parquet objects for package dataset. Package parquet is the only
// package that uses the library github.com/parquet-go/parquet-go.
//
//	File        the footer: names and types of the columns, row groups
//	Rows        the rows of one row group, of which only some columns are read
//	Dictionary  the different values of a column, if the writer has stored them once
//	Writer      writes an object of one or more row groups, with the types of package typed
//
// A value is returned as text: a decimal number, a date such as 2026-11-22, a time such as
// 2026-11-22T21:04:00Z, an interval such as P14M3DT0.25S, true or false, or the bytes of a string. A
// float is the shortest decimal that has this float value, and a float of 16 bits is that of 32 bits with
// the same value. So a column has the same values as in CSV. The types BSON, GEOMETRY, GEOGRAPHY and
// FIXED_LEN_BYTE_ARRAY, and the bytes below a VARIANT, are returned in hexadecimal. Another BYTE_ARRAY
// without a type is text, because old writers store text in this way.
//
// A list or a map is one column, also if several columns of the object are in it, and its value is JSON text:
//
//	list<int>                      [1,2,null]
//	map<text, decimal>             {"a":1.50,"b":null}      keys sorted; of equal keys the last one counts
//	list<struct<x int, at date>>   [{"x":1,"at":"2026-11-22"}]
//
// In JSON text, numbers and booleans are those of JSON, and all other values are strings, also infinities and NaN. A repeated
// column or group without a group of the type LIST or MAP around it is a list too, and so are the forms of old writers.
//
// This package cuts column chunks into pages and decompresses them, and gives them to the library. A page
// whose size, number of values or CRC differs from its header is damaged. A dictionary that no page uses is
// not decoded. The package also reads objects that the library refuses and other readers accept: the codec
// LZ4 of old writers, a footer with keys without values, with a type of a group or with more column chunks
// than columns, bytes after the last value of a page, and column chunks whose size does not include the
// header of their dictionary. The program bench/internal/refused lists the objects of public test suites that
// are refused.
//
// # Limits
//
// A few bytes of an object can claim billions of values, so the claims are checked before memory is allocated:
//
//   - The metadata of an object has at most 64 MiB, and at most 65,536 columns, row groups and column chunks
//     together, and one more for each 16 bytes.
//   - The decoded pages of a row group, which are the dictionary and one other page of each column, need at
//     most 512 MiB and 16 times the stored size of the columns. A value counts 9 bytes beside the bytes of
//     the page, and a value of a dictionary 64 bytes.
//   - The column chunks of a row group together are not larger than the object.
//   - The JSON text of a list or map has at most 64 MiB, and the texts of 64 rows at most 512 MiB.
//
// # What can fail
//
//   - The object is not Parquet or is damaged: an error.
//   - The library panics, the object is encrypted, a limit is exceeded, a column is compressed with LZO, or a
//     text is not UTF-8: an [UnreadableError]. Columns that the job does not use are not decoded.
package parquet
