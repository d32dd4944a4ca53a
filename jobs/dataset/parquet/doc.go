// Package parquet reads and writes Parquet objects for package dataset. Package parquet is the only
// package that uses the library github.com/parquet-go/parquet-go.
//
//	File        the footer: names and types of the columns, row groups
//	Rows        the rows of one row group, of which only some columns are read
//	Dictionary  the different values of a column, if the writer has stored them once
//	Writer      writes an object of one or more row groups
//
// A value is returned as text: a decimal number, a date such as 2026-11-22, a time such as
// 2026-11-22T21:04:00Z, an interval such as P14M3DT0.25S, true or false, or the bytes of a string. A
// float is the shortest decimal that has this float value, and a float of 16 bits is that of 32 bits with
// the same value. So a column has the same values as in CSV. The types BSON, GEOMETRY, GEOGRAPHY and
// FIXED_LEN_BYTE_ARRAY, and the bytes below a VARIANT, are returned in hexadecimal. Another BYTE_ARRAY
// without a type is text, because old writers store text in this way. Columns in lists and maps are not read.
//
// The library's codecs are replaced by codecs that always decode a page into the library's buffer,
// because the library would lose the content of hardly compressed LZ4_RAW pages. A page that is
// larger than its header says, or whose CRC is wrong, is damaged. The package also reads objects that
// the library refuses and other readers accept: the codec LZ4 of old writers, a footer with keys without
// values or with a type of a group, bytes after the last value of a page, and column chunks whose size does
// not include the header of their dictionary. The program bench/internal/refused lists the objects of public
// test suites that are refused.
//
// # What can fail
//
//   - The object is not Parquet or is damaged: an error. The library may panic or allocate much for
//     a damaged object.
//   - The library panics, the object is encrypted, a column is compressed with LZO, or a text is not
//     UTF-8: an [UnreadableError]. Columns that the job does not use are not decoded.
package parquet
