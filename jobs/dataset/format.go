package dataset

import (
	"fmt"
	"path"
	"strings"
)

// format determines how bytes are divided into records and fields.
type format string

const (
	lines  format = "lines"
	csv    format = "csv"
	tsv    format = "tsv"
	ndjson format = "ndjson"

	parquetFormat format = "parquet"
	avroFormat    format = "avro"
)

// typed reports whether the records of a format are typed values, which are not divided into fields by their bytes.
func (f format) typed() bool { return f == parquetFormat || f == avroFormat }

var formatOfEnding = map[string]format{
	".csv": csv, ".tsv": tsv, ".tab": tsv, ".ndjson": ndjson, ".jsonl": ndjson, ".txt": lines, ".log": lines,
	".parquet": parquetFormat, ".avro": avroFormat,
}

// compression is the compression of an object: the ending of its name, or empty.
type compression string

const (
	plain compression = ""
	gzip  compression = ".gz"
	zstd  compression = ".zst"
	bzip2 compression = ".bz2"
)

// compressionOf returns the compression of an object, which the ending of the object's name
// determines.
func compressionOf(name string) compression {
	if c := compression(strings.ToLower(path.Ext(withoutQuery(name)))); c == gzip || c == zstd || c == bzip2 {
		return c
	}
	return plain
}

func withoutQuery(name string) string {
	if strings.Contains(name, "://") {
		name, _, _ = strings.Cut(name, "?")
	}
	return name
}

// formatOf returns the format of an object, which the ending of the object's name determines.
func formatOf(name string) (format, error) {
	bare := withoutQuery(name)
	bare = bare[:len(bare)-len(compressionOf(name))]
	if f, ok := formatOfEnding[strings.ToLower(path.Ext(bare))]; ok {
		return f, nil
	}
	return "", fmt.Errorf("%s: the ending of the name tells no format: want .csv, .tsv, .ndjson, .jsonl, .txt or .log, each also with .gz, .zst or .bz2, .parquet or .avro, or the parameter format", name)
}

// formatOfAll returns the format of the objects of an input. All objects must have the same format.
func (in Input) formatOfAll(l listing) (format, error) {
	if in.Format != "auto" && in.Format != "" {
		return format(in.Format), nil
	}
	first, err := formatOf(l[0].Name)
	if err != nil {
		return "", err
	}
	for _, o := range l {
		f, err := formatOf(o.Name)
		if err != nil {
			return "", err
		}
		if f != first {
			return "", fmt.Errorf("%s is %s and %s is %s: want objects of one format, or the parameter format", l[0].Name, first, o.Name, f)
		}
	}
	return first, nil
}
