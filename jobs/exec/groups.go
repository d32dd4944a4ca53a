package exec

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// groups is a file that contains the numbers of the process groups of running calls. The file
// continues to exist if this process is killed. Each line contains a number, or 0 if the line is
// unused.
type groups struct {
	file *os.File

	mu     sync.Mutex
	lines  map[int]int // indexes of the used lines, by the number of the group
	unused []int       // indexes of the unused lines
}

const (
	groupsName  = "groups"
	groupLine   = "%10d\n"
	groupLength = 11
	// firstGroups is the number of lines that are written when the file is made, so that a full disk
	// is noticed before a call starts.
	firstGroups = 256
)

// newGroups makes the file in a folder.
func newGroups(folder string) (g *groups, err error) {
	g = &groups{lines: map[int]int{}}
	if g.file, err = os.OpenFile(filepath.Join(folder, groupsName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	if _, err = g.file.WriteString(strings.Repeat(fmt.Sprintf(groupLine, 0), firstGroups)); err != nil {
		_ = g.file.Close()
		return nil, err
	}
	for i := range firstGroups {
		g.unused = append(g.unused, firstGroups-1-i)
	}
	return g, nil
}

// add adds a group to the file.
func (g *groups) add(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	line := len(g.lines)
	if last := len(g.unused) - 1; last >= 0 {
		line, g.unused = g.unused[last], g.unused[:last]
	}
	g.lines[group] = line
	g.write(line, group)
}

// remove removes a group from the file.
func (g *groups) remove(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if line, found := g.lines[group]; found {
		delete(g.lines, group)
		g.unused = append(g.unused, line)
		g.write(line, 0)
	}
}

// write ignores errors: the kernel kills the programs even if the guard process knows no groups.
func (g *groups) write(line, group int) {
	_, _ = g.file.WriteAt(fmt.Appendf(nil, groupLine, group), int64(line)*groupLength)
}

// readGroups returns the groups in a file. An unreadable file contains none.
func readGroups(file io.Reader) (list []int) {
	text, _ := io.ReadAll(file)
	for word := range strings.FieldsSeq(string(text)) {
		if group, err := strconv.Atoi(word); err == nil && group > 1 {
			list = append(list, group)
		}
	}
	return list
}
