// Package typed converts the texts of fields to the values of typed columns, for package output and package
// parquet.
//
//	text           any text
//	integer        64 bits
//	decimal(P,S)   P digits, of which S are after the point; P is at most 38
//	decimal        any number of digits
//	float          64 bits, infinities and NaN included
//	boolean        true or false
//	date           a day, such as 2026-11-22
//	timestamp      microseconds in UTC, such as 2026-11-22T21:04:00.5Z
//	timestamp(ns)  nanoseconds in UTC, from 1677 to 2262
//
// An empty field is a missing value in all types, and is never converted.
package typed
