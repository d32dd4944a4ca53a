//go:build !unix

package local

import "io/fs"

// number returns an empty text, because package os does not give the numbers of files.
func number(fs.FileInfo) string { return "" }
