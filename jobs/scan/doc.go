// Package scan defines a job that can be used without writing code. The job filters, groups,
// aggregates and sorts the records of files or blobs, and its result is a table.
//
//	bellwether run scan -p 'input=logs/*.csv.zst' -p by=station -p 'aggregate=count,min(t),mean(t),p99(t)'
//	bellwether submit scan -p input=azblob://logs/2026-11/ -p 'where=status >= 500' -p by=host \
//		-p 'aggregate=count,distinct(user)' -p order=-count -p limit=20 --wait
//
//	record ─▶ let ─▶ where ─▶ group of by ─▶ states of the aggregates     partial: a table
//	                                                                       Merge: by group
//	                                                                       Finish: results, having, order, offset, limit
//
// With the parameter output, the rows are written to objects of a folder, in CSV, as JSON lines or in Parquet.
// The result then contains only the number of rows. Package output ensures that readers see each
// row exactly once. The command "bellwether output ID" lists, copies or prints the objects. The
// parameter input=job:ID makes another job read the objects.
//
//	bellwether submit scan -p input=azblob://logs/ -p 'where=status >= 500' -p output=azblob://out/errors/
//
// The folders in the names of the objects may be columns:
//
//	bellwether run scan -p 'input=logs/y=2026/*/*/*.csv' -p 'where=m == 11 and status >= 500' -p by=d,host -p aggregate=count
//
// Objects below folders that an operand of and in where excludes are neither listed, if the source can do that, nor read,
// nor counted in rows_read: input=logs/ with where='y == 2026 and m == 11 and d == 25' lists one day.
//
// If the parameter columns is empty, columns of Parquet of types that cannot be read are left out. The member omitted of the
// result has their names.
//
// Package dataset reads the records. The documentation of package dataset describes the formats,
// the sources and their errors.
//
// # Values
//
// A field is text. If a number is needed, the text is parsed as an exact decimal number. Empty
// fields, null and missing JSON members are missing values. Aggregates ignore missing values, and
// a comparison of a missing value with a number gives false.
//
//	count, count(x)               rows, or values                               integer
//	sum(x)                        exact                                         decimal
//	min(x)                        of numbers, or of texts by bytes              decimal or text
//	max(x)                        of numbers, or of texts by bytes              decimal or text
//	mean(x)                       of exact sums, rounded once                   float
//	var(x)                        of a sample, of exact sums                    float
//	stddev(x)                     square root of var(x)                         float
//	distinct(x)                   HyperLogLog above 4096 values                 integer
//	p50(x) to p99.9(x), median(x) value of rank ⌈qn⌉; above 1024 values of bins float
//	top(x,n)                      n most frequent values, with their counts     text
//	exact_distinct(x)             exact for any number of values                integer
//
// A decimal is a string in JSON, and the result of top(x,n) is JSON too: pairs of value and count. A
// group may have at most 65,536 distinct values for top. For distinct and the quantiles, the note of
// the result's column has the largest error. exact_distinct(x) has none, and needs memory for each value: see Memory.
//
// A float of a Parquet or Avro object that is infinite or NaN is not a number. The aggregates count,
// distinct and top, and the parameters by and columns, use its text: +Inf, -Inf or NaN. For the
// other aggregates a record with such a float is bad: the job fails, or skips the record and counts
// it if the parameter on-error is skip. A comparison in where treats the texts of infinities and of
// NaN as the float64 values, in all formats: +Inf is larger than all numbers, and NaN is neither
// less than, equal to nor greater than any number. The expression x not in ['+Inf', '-Inf', 'NaN']
// leaves such records out.
//
// A timestamp of a Parquet or Avro object is a text such as 2026-11-22T21:04:00.5Z, and a time of day a text such as
// 21:04:00.5. Such texts are ordered by their time in where, order, min and max, also if only one has a
// fraction. A constant in where that is compared with such a text, or that is in a list after in, is read as a
// time or a date, in UTC if it names no zone: ts >= '2026-11-22 21:04:00'. For a column of a Parquet or Avro object that
// has a type of times, another constant is an error, which the submission of the job reports.
//
// No aggregate depends on the order of the records, so the result has the same bytes for every
// block size, number of workers and type of processor. The result is sorted by the columns in the
// parameter order, and then by the groups. Without the parameter order, the rows of a query without
// aggregates have the order of the input. The groups of an output without order, limit and offset are sorted by the bytes of
// the column in by, so 10 comes before 9, or, with several columns, in another fixed order.
//
// The parameter where is an expression of package expr. The path of a member below others, such as a.b, is written as it is,
// and so is a column with such a name. A column whose name has other characters than letters, digits, underscores and dots,
// or is a word of package expr such as in, is written in $env:
//
//	bellwether run scan -p input=orders.ndjson -p 'where=customer.address.country == "no" and total > 100' -p by=customer.id -p aggregate=count
//	bellwether run scan -p input=sales.csv -p 'where=$env["unit price"] > 5 and $env["order-id"] != ""' -p columns=order-id
//
// A query of all columns, without the parameters columns and aggregate, has only the columns that the objects have at the top.
//
// The expressions of let and having are written in the same way. The other parameters contain such names as they are. Each
// operand of and, or and not is evaluated alone. A simple operand is a comparison of a column with a
// constant or with another column, or contains the operator in, contains, startsWith or endsWith with
// constant text. Simple operands compare exact decimals. Two columns are compared as numbers if both fields
// are numbers, and as texts if both are not. In all other operands a number is a float64, and a column that
// is compared with text is text. If such an operand cannot be evaluated because a field is empty, the
// operand is false. Functions whose results depend on the host, on the time or on the order of a map are
// refused.
//
// The operands that are not simple have limits for each record, so that a condition cannot take all memory or
// run for hours: 16,777,216 steps and 1,000 more for each byte of the fields, and 256 MiB for the texts and
// lists that it makes. Each value that is used is a step, and each of its bytes. A regular expression takes
// a step for each byte of the text and each of its instructions. In a column, it has at most 1,000 bytes.
//
// # Derived columns
//
// The parameter let computes columns: definitions such as total = price * amount, separated by semicolons.
// The other parameters use derived columns like those of the input, and a definition may use the names
// before it. A derived column hides a column of the input that has the same name.
//
//	bellwether run scan -p 'input=logs/*.csv' -p 'let=minute = date_trunc("minute", ts); slow = ms > 500 ? "slow" : "fast"' \
//		-p by=minute,slow -p 'aggregate=count,mean(ms)' -p order=minute
//	bellwether run scan -p 'input=sales/*.csv' -p 'let=month = day[0:7]; total = price * amount' \
//		-p 'where=total > 0' -p by=month -p 'aggregate=sum(total)'
//
// A definition is an expression as in where, whose value is a text, a number, or true or false. Sums, differences
// and products of columns and constants are exact, up to 1,000 digits. Other numbers are float64, with the same bits on
// every type of processor. A choice
// such as a > b ? a : b and coalesce(a, b) have the text of the chosen field. In a sum with a text, such as
// a + '-' + b, columns are texts. The sum a + b of two columns adds numbers, and joins texts of which neither is a
// number. Its type in an output is decimal also if both columns are text, in all formats of the input. The sum
// "" + a + b always joins texts. The value is missing if it cannot be computed because a field is empty, or
// if it is infinite or NaN. If it cannot be computed for another reason, and a record needs it, the
// record is bad. Expressions may call these functions, and those of package expr that the error for an
// unknown function lists, such as upper, len, replace, split, abs and round:
//
//	year(t)                         of a time or a date
//	month(t)                        1 to 12
//	day(t)                          day of the month
//	hour(t)                         0 to 23
//	minute(t)                       0 to 59
//	second(t)                       0 to 59
//	date_trunc(unit, t)             the beginning of the unit that contains a time
//	date_diff(unit, t, u)           number of units that begin after t until u
//	like(x, pattern)                % in the pattern: any text, _: any character
//	regexp_replace(x, pattern, by)  all matches; $1 in by: the first group
//	json(x, path)                   the member with a path such as 'a.b' of a JSON object
//	coalesce(x, y, …)               the first value that is not missing
//
// Times are texts such as 2026-11-22T21:04:00Z or 2026-11-22 21:04:00, in UTC if they name no zone, and dates
// such as 2026-11-22. Units are year, month, week, which begins on Monday, day, hour, minute and second. The
// operator matches tests a regular expression: x matches '^a'.
//
// # Members of JSON in a column
//
// The function json is for a column of any format whose fields are JSON objects, such as the column Body of the Avro objects
// of Azure Event Hubs Capture. Its value is that of a member in JSON lines: the path a.b is the member b of the object a,
// strings have no quotes, and a member that is null or absent, or below something that is not an object, is missing. The value is
// text. A definition in let makes a column of it, which is a number in where and in aggregates if the text is one:
//
//	bellwether run scan -p 'input=capture/*.avro' -p 'let=device = json(Body, "device.id"); t = json(Body, "t")' \
//		-p 'where=t > 20.5' -p by=device -p 'aggregate=count,mean(t)'
//
// A record with a text that is not JSON is bad if it needs the value, and an empty field is missing. The operands of and are
// evaluated in their order, so where='Body startsWith "{" and t > 20.5' needs the value only of texts that begin like
// objects.
//
// # Groups and rows of the result
//
// The parameter having is an expression too, of the columns of the result: those of by, and the aggregates as
// the result names them. Rows for which it is not true are not in the result, and not in the output. The
// parameter offset drops the first rows in the order of the result, before limit applies.
//
//	bellwether run scan -p 'input=logs/*.csv' -p by=host -p 'aggregate=count,p99(ms)' \
//		-p 'having=count > 100 and p99(ms) >= 500' -p order=-count -p offset=20 -p limit=10
//
// # Types of an output
//
// JSON lines and Parquet have types. The types of an output are fixed before its first object is written and are the same
// in all its objects. Its manifest lists them. They do not depend on the values of a part of the input:
//
//	a column of Parquet or Avro    integer, float, boolean, date, timestamp or decimal(P,S) as in the first object; others are text
//	a member of a JSON object      in JSON lines the value as it is, also a list or an object; in Parquet text
//	a column of other objects      text, because a record may follow that is no number
//	a derived column               the type of its expression: of comparisons boolean, of year(t) integer, of x / y float, …
//	an aggregate                   the type in the table above; min(x), max(x) and sum(x) keep the type of a column that has one
//
// The parameter types gives columns of the output other types. A field that is not a value of the type makes the record bad, or
// fails the job if it is a value of by or an aggregate:
//
//	bellwether run scan -p input=sales.csv -p output=out/ -p output-format=parquet -p 'types=id:integer, price:decimal(10,2), sold:timestamp'
//
// The types are text, integer (64 bits), decimal(P,S) with P digits, at most 38, of which S are after the point, decimal,
// float (64 bits), boolean, date, timestamp (microseconds in UTC) and timestamp(ns). JSON lines have all digits of numbers.
// Infinities and NaN are the texts +Inf, -Inf and NaN there, and times and dates are texts, because JSON has no such values.
// Sums and products of integers are decimal(38,0), because they may need more than 64 bits, and those of decimals have the
// digits after the point that they need. The number of digits of sums of floats and of text is not known: such a decimal is a
// DOUBLE in Parquet, which is the exact result rounded once, unless types=sum(price):decimal(38,2) gives it its digits. The
// minimum or maximum of a column of text is a decimal if the values of all groups are numbers, and otherwise text.
//
// # Speed
//
// A query without where and let, by one column, whose aggregates are count, sum, min, max and mean of one
// other column is computed by a kernel, which needs no Record for each row:
//
//	kernel      CSV and TSV: finds the two fields in the text, eight bytes at a time
//	codeKernel  Parquet: looks up each key of a dictionary once per row group
//
// A row that is unusual for a kernel, such as a row with quotes, or a number of many digits, is
// folded by a grouper, which computes all queries.
//
// # Memory
//
// Each slot adds records to a hash table of at most 131,072 groups, or of 32,768 while most records have new keys. A full hash
// table becomes a run: its groups, sorted by the bytes of their keys and encoded. The slot merges its runs into one when those
// after the first one have at least 48 MiB and are as large as the first one, and at the end of its records. A group of a query
// such as min(x), mean(x), max(x) needs about 230 bytes in the hash table and 20 bytes more than its key in a run.
// Merge reads two runs in order and writes one, so a merge needs the memory of both runs and of the
// merged run. Without the parameter output, Finish sorts 24 bytes for each group and reads the groups from the run.
//
// With output, the number of groups is not limited by memory. If the runs of a partition or of a merge have more than 32 MiB, or 48 MiB
// while a partition is read, they are moved to storage as one run. If the groups of
// the whole input have more than 256 KiB, the job has a second pass (jobs.SecondPass), which status shows as round 2. Each of its
// partitions merges a shard, a range of the groups of about 32 MiB, and writes its rows to objects, so that all workers write
// at the same time. With order, limit or offset it sorts its shard, and Finish merges the sorted shards. A slot needs about
// 300 MB, and a hundredth of the size of all runs. A run in one process moves them to the folder for temporary files.
//
// The state of exact_distinct(x) contains each different value of a group once: its bytes and one byte more, or two from 128 bytes
// on. These bytes are a part of the partial, so they count against the memory of the workers and are sent between
// them, and a merge needs up to twice the bytes of both states more. While a slot reads a range, it also has the values since
// it last sorted them, at most as many bytes again and 24 for each value. distinct(x) needs 16 KB for each
// group, however many values there are.
//
// # What can fail
//
//   - The parameters are invalid: an unknown function, a syntax error in where, let or having, or a column in
//     order that is not in the result. A job with invalid parameters is refused when it is
//     submitted.
//   - A column does not exist: the plan fails, and the error lists the columns that exist. If the
//     submitting process can read the input, it refuses the job.
//   - A field is not a number where a number is needed: the record is bad. Depending on the
//     parameter on-error, the job fails or the record is skipped.
//   - The values of a column of min or max are partly numbers and partly other text: Finish fails,
//     and the error contains an example of each, with the object and the byte offset of the text.
//   - A group of top(x,n) has more than 65,536 distinct values: Finish fails. The result is never
//     an approximation, because approximate results would depend on the split.
//   - A result without output has more than 100,000 rows or 256 MiB, or with aggregates more than
//     1,000,000 rows or 512 MiB, of which each value counts 24 bytes more: the job fails as soon as the
//     merged groups or rows of a part of the input exceed such a limit, and for the 512 MiB in Finish.
//   - The folder of the parameter output contains the output of an earlier job: the plan fails.
package scan
