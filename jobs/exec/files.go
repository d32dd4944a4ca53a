package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/bellwether-compute/bellwether/jobs"
)

// FileInfo describes a file that is submitted with a job. The parameter files is a JSON array of
// FileInfo.
type FileInfo struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

var (
	fileName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}$`)
	fileSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// files returns the descriptions of the files that were submitted with a job.
func (p Params) files() (list []FileInfo, err error) {
	if p.Files == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(p.Files), &list); err != nil {
		return nil, fmt.Errorf("parameter files: got %.100q, takes a JSON array of objects with name, sha256 and size: the option --send makes it", p.Files)
	}
	names := map[string]bool{}
	for _, f := range list {
		switch {
		case !fileName.MatchString(f.Name):
			return nil, fmt.Errorf("file %.120q: want a name of 1 to 100 letters, digits and characters of ._+-, which begins with a letter, a digit or _", f.Name)
		case names[f.Name]:
			return nil, fmt.Errorf("file %s: two files have this name", f.Name)
		case !fileSHA256.MatchString(f.SHA256) || f.Size < 0:
			return nil, fmt.Errorf("file %s: got SHA-256 %.100q and size %d: the option --send makes them", f.Name, f.SHA256, f.Size)
		}
		names[f.Name] = true
	}
	return list, nil
}

// folder is a folder with the files of a job. The files are executable and cannot be changed.
type folder struct {
	dir   string // path of the folder; empty if the job has no files
	files []FileInfo
}

// fetch reads the files of a job from storage and writes them to a temporary folder.
func fetch(ctx context.Context, g *Guard, files []FileInfo) (f folder, err error) {
	if len(files) == 0 {
		return folder{}, nil
	}
	if f.dir, err = g.makeFolder("files-"); err != nil {
		return folder{}, fmt.Errorf("make folder for files: %w", err)
	}
	if err := os.Chmod(f.dir, 0o755); err != nil { // another user may run the program
		return folder{}, errors.Join(err, f.Close())
	}
	f.files = files
	for _, info := range files {
		if err := f.fetch(ctx, info); err != nil {
			return folder{}, errors.Join(fmt.Errorf("fetch file %s: %w", info.Name, err), f.Close())
		}
	}
	return f, nil
}

func (f folder) fetch(ctx context.Context, info FileInfo) error {
	file, err := os.OpenFile(filepath.Join(f.dir, info.Name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Chmod(0o555), jobs.WriteFile(ctx, info.SHA256, info.Size, file), file.Close()) // whatever the umask
}

// link creates a symbolic link to each file in dir, the working folder of a call.
func (f folder) link(dir string) error {
	for _, info := range f.files {
		if err := os.Symlink(filepath.Join(f.dir, info.Name), filepath.Join(dir, info.Name)); err != nil {
			return fmt.Errorf("link file: %w", err)
		}
	}
	return nil
}

// Close removes the folder and its files.
func (f folder) Close() error {
	if f.dir == "" {
		return nil
	}
	if err := os.RemoveAll(f.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove files: %w", err)
	}
	return nil
}
