package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
)

// itemList contains the items of each call.
type itemList [][]string

func (l itemList) calls() uint64                { return uint64(len(l)) }
func (l itemList) of(partition uint64) []string { return l[partition] }

const (
	// maxItems is the maximum size in bytes of the file of the items, which a worker keeps in memory.
	maxItems = 256 << 20
	// maxWord is the maximum size in bytes of an argument of a program on Linux (MAX_ARG_STRLEN).
	maxWord = 128<<10 - 1
)

// itemsFile returns the description of the file that contains the items.
func (c Calls) itemsFile() (info FileInfo, err error) {
	if json.Unmarshal([]byte(c.Items), &info) != nil || !fileSHA256.MatchString(info.SHA256) || info.Size < 0 || info.Size > maxItems {
		return info, fmt.Errorf("parameter items: got %.200q, takes a JSON object with name, sha256 and size: the option --items makes it", c.Items)
	}
	return info, nil
}

// readItems reads the items of a job: the lines that are not empty, without line ends.
func (p Params) readItems(ctx context.Context) (list itemList, err error) {
	info, err := p.itemsFile()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := jobs.WriteFile(ctx, info.SHA256, info.Size, &text); err != nil {
		return nil, fmt.Errorf("read items: %w", err)
	}
	var items []string
	number := 0
	for line := range strings.Lines(text.String()) {
		number++
		item := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		switch {
		case item == "":
			continue
		case !p.Keep && (len(item) > maxWord || strings.ContainsRune(item, 0)):
			return nil, jobs.Permanent(fmt.Errorf("items: line %d, %.100q: want at most %d bytes without a zero byte, because the line is an argument of the program", number, item, maxWord))
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		return nil, jobs.Permanent(fmt.Errorf("items: there are none in the %d lines of %s", number, info.Name))
	}
	return slices.Collect(slices.Chunk(items, int(max(1, p.Lines)))), nil
}
