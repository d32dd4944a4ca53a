package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"golang.org/x/term"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

// snapshot is the progress of a job at one time.
type snapshot struct {
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
}

// left estimates the time until the stage ends. left returns false if the time is unknown.
func (s snapshot) left() (time.Duration, bool) {
	if s.Left > 0 {
		return s.Left, true
	}
	return client.Remaining(s.Done, s.All, s.Rate)
}

// line returns the snapshot as a line of text.
func (s snapshot) line() string {
	var parts []string
	if s.All == 0 {
		parts = append(parts, string(s.State)+s.Doing)
	} else {
		parts = append(parts, fmt.Sprintf("%3d%%", percent(s.Done, s.All)), humanize.Comma(int64(s.Done))+"/"+humanize.Comma(int64(s.All)))
		if s.Doing != "" {
			parts = append(parts, s.Doing)
		}
	}
	if s.Stage != "" {
		parts = append(parts, s.Stage)
	}
	if s.Rate > 0 {
		parts = append(parts, rate(s.Rate)+"/s")
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
		parts = append(parts, firstLine(s.Trouble))
	}
	return strings.Join(parts, "  ")
}

// bar formats the snapshot as one line of a terminal. In a narrow terminal the progress bar is
// shortened or omitted, but the text remains.
func (s snapshot) bar(columns int) string {
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

func percent(done, all uint64) int {
	return int(100 * float64(done) / float64(all)) // round down, so that the result is 100 only at the end
}

// rate formats a rate with at most three digits.
func rate(perSecond float64) string {
	if perSecond < 1000 {
		return fmt.Sprintf("%.3g", perSecond)
	}
	value, prefix := humanize.ComputeSI(perSecond)
	return fmt.Sprintf("%.3g%s", value, prefix)
}

// quietFor is the interval between progress lines if the output is not a terminal.
const quietFor = 5 * time.Second

// progress displays snapshots of a job's progress. On a terminal, progress redraws a bar; otherwise
// it prints a line at the interval quietFor.
type progress struct {
	out     io.Writer
	columns func() int // function that returns the terminal's width; nil if the output is not a terminal
	due     time.Time  // time at which the next line is printed; unused on a terminal
	drawn   bool
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, due: time.Now().Add(quietFor)}
	if f, ok := out.(*os.File); ok && isTerminal(f) {
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

func isTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// every returns the interval between two snapshots.
func (p *progress) every() time.Duration {
	if p.columns != nil {
		return 100 * time.Millisecond
	}
	return 500 * time.Millisecond
}

func (p *progress) show(s snapshot) {
	if p.columns != nil {
		fmt.Fprintf(p.out, "\r\x1b[K%s", s.bar(p.columns()))
		p.drawn = true
		return
	}
	if now := time.Now(); now.After(p.due) {
		p.due = now.Add(quietFor)
		fmt.Fprintln(p.out, s.line())
	}
}

// clear erases the bar, so that other lines can be printed.
func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

// speedometer measures the rate at which a count grows.
type speedometer struct {
	at   time.Time
	done uint64
	rate float64
}

// memory is approximately how long the measured rate takes to follow a change of speed.
const memory = 5 * time.Second

func (m *speedometer) observe(now time.Time, done uint64) float64 {
	if m.at.IsZero() {
		m.at, m.done = now, done
		return 0
	}
	elapsed := now.Sub(m.at)
	if elapsed < 200*time.Millisecond || done < m.done {
		return m.rate
	}
	current := float64(done-m.done) / elapsed.Seconds()
	if m.rate == 0 {
		m.rate = current
	} else {
		weight := min(1, elapsed.Seconds()/memory.Seconds())
		m.rate += weight * (current - m.rate)
	}
	m.at, m.done = now, done
	return m.rate
}
