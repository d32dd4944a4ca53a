package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"golang.org/x/term"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// Snapshot is the progress of a job at one time.
type Snapshot struct {
	State   client.State
	Doing   string // description of the current activity; empty for a job
	Stage   string // stage of the job; empty while workers run its partitions
	Done    uint64
	All     uint64        // number of partitions; 0 if the job is not planned yet
	Rate    float64       // partitions per second; 0 if unknown
	Left    time.Duration // time until the stage ends; if Left is 0, the time is estimated from Rate
	Workers int           // number of workers that hold spans of the job; 0 if unknown
	Epoch   uint64        // epoch of the leader; 0 if there is no leader
	Cluster bool          // the job runs on a cluster, so Workers and Epoch are shown
	Trouble string        // reason why the job does not advance

	Round    string // description of the round; empty for a job without rounds
	Estimate string // description of the last estimate; empty before the first estimate
}

// left estimates the time until the stage ends. left returns false if the time is unknown.
func (s Snapshot) left() (time.Duration, bool) {
	if s.Left > 0 {
		return s.Left, true
	}
	return client.Remaining(s.Done, s.All, s.Rate)
}

// line returns the snapshot as a line of text.
func (s Snapshot) line() string {
	var parts []string
	if s.All == 0 {
		parts = append(parts, string(s.State)+s.Doing)
	} else {
		parts = append(parts, fmt.Sprintf("%3d%%", human.Percent(s.Done, s.All)), human.Count(s.Done)+"/"+human.Count(s.All))
		if s.Doing != "" {
			parts = append(parts, s.Doing)
		}
	}
	if s.Stage != "" {
		parts = append(parts, s.Stage)
	}
	if s.Rate > 0 {
		parts = append(parts, human.Rate(s.Rate)+"/s")
	}
	if s.Round != "" {
		parts = append(parts, "round "+s.Round)
	}
	if s.Estimate != "" {
		parts = append(parts, s.Estimate)
	}
	if left, ok := s.left(); ok {
		parts = append(parts, left.Round(time.Second).String()+" left")
	}
	if s.Cluster {
		if s.Epoch == 0 {
			parts = append(parts, "nobody leads at the moment")
		} else {
			parts = append(parts, english.Plural(s.Workers, "worker", ""), fmt.Sprintf("epoch %d", s.Epoch))
		}
	}
	if s.Trouble != "" {
		parts = append(parts, human.Plain(human.FirstLine(s.Trouble)))
	}
	return strings.Join(parts, "  ")
}

// bar formats the snapshot as one line of a terminal. In a narrow terminal the progress bar is
// shortened or omitted, but the text remains.
func (s Snapshot) bar(columns int) string {
	const widest, narrowest = 24, 6
	line := s.line()
	width := min(widest, columns-len("[] ")-len([]rune(line))-1)
	if s.All > 0 && width >= narrowest {
		full := int(float64(width) * float64(s.Done) / float64(s.All))
		line = "[" + strings.Repeat("#", full) + strings.Repeat("-", width-full) + "] " + line
	}
	if r := []rune(line); len(r) >= columns {
		line = string(r[:max(columns-1, 0)])
	}
	return line
}

// quietFor is the interval between progress lines if the output is not a terminal.
const quietFor = 5 * time.Second

// Progress displays snapshots of a job's Progress. On a terminal, Progress redraws a bar; otherwise
// it prints a line at the interval quietFor, unless the line is the same as the one before.
type Progress struct {
	out     io.Writer
	columns func() int // function that returns the terminal's width; nil if the output is not a terminal
	due     time.Time  // time at which the next line is printed; unused on a terminal
	drawn   bool
	last    string // line that was printed last; unused on a terminal
}

func New(out io.Writer) *Progress {
	p := &Progress{out: out, due: time.Now().Add(quietFor)}
	if f, ok := out.(*os.File); ok && console.IsTerminal(f) {
		p.columns = func() int {
			columns, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 80
			}
			return columns
		}
	}
	return p
}

// every returns the interval between two snapshots.
func (p *Progress) every() time.Duration {
	if p.columns != nil {
		return 100 * time.Millisecond
	}
	return 500 * time.Millisecond
}

func (p *Progress) Show(s Snapshot) {
	if p.columns != nil {
		fmt.Fprintf(p.out, "\r\x1b[K%s", s.bar(p.columns()))
		p.drawn = true
		return
	}
	if now, line := time.Now(), s.line(); now.After(p.due) && line != p.last {
		p.due, p.last = now.Add(quietFor), line
		fmt.Fprintln(p.out, line)
	}
}

// Clear erases the bar, so that other lines can be printed.
func (p *Progress) Clear() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

// Follow shows snapshots in the background until the returned function stop is called.
func Follow(out io.Writer, look func() Snapshot) (stop func()) {
	p := New(out)
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(p.every())
		defer tick.Stop()
		for {
			select {
			case <-ended:
				p.Clear()
				return
			case <-tick.C:
				p.Show(look())
			}
		}
	}()
	return func() {
		close(ended)
		<-stopped
	}
}
