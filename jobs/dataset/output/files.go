package output

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// WriteFile writes a file as one object of an output of the format Files. The label is that of Write. The
// part has the path and the item of the parameter p.
func (f Folder) WriteFile(ctx context.Context, label string, p Part, content []byte) (Part, error) {
	err := f.write(ctx, &p, label, ending(p.Path), content)
	return p, err
}

var endingForm = regexp.MustCompile(`^(\.[A-Za-z0-9_]{1,16})?$`)

// ending returns the ending of an object's name: that of the path, or none if it could confuse readers of names.
func ending(name string) string {
	if e := path.Ext(name); endingForm.MatchString(e) {
		return e
	}
	return ""
}

const maxPath = 1024 // bytes

// CheckPath returns an error if a file may not have this path. A path is relative, without the elements
// . and .., so that a copy of an output stays in its folder.
func CheckPath(name string) error {
	if !fs.ValidPath(name) || name == "." || len(name) > maxPath || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.Contains(name, `\`) {
		return errors.New("want a path of at most 1024 bytes of UTF-8, without control characters and backslashes")
	}
	return nil
}
