package throughput

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/work"
)

// System is one of the compared systems.
type System struct {
	Name       string
	Versions   func(context.Context, Place) (string, error)
	Durability string // description of the tasks that survive a power failure
	Tuning     string // description of the settings that differ from the defaults
	Settings   []Setting
	open       func(context.Context, Place, work.Work, Setting) (session, error)
}

// Place contains the resources for a system.
type Place struct {
	Dir       string // folder for data, which must exist
	Program   string // path of the bellwether program
	Processes int
	Slots     int // number of slots per process
}

func (p Place) cores() int { return p.Processes * p.Slots }

// Setting contains the settings of a system that the benchmark varies.
type Setting struct {
	Procs int `json:"gomaxprocs"` // GOMAXPROCS of each worker process; 0 means the number of cores
	Hand  int `json:"in_hand"`    // number of tasks that a worker process may hold; 0 if the system has no such setting
	Batch int `json:"batch"`      // number of tasks per insertion; 0 if tasks are inserted one by one
}

func (s Setting) String() string {
	var words []string
	if s.Procs > 0 {
		words = append(words, fmt.Sprint("GOMAXPROCS=", s.Procs))
	}
	if s.Hand > 0 {
		words = append(words, fmt.Sprintf("%d in hand", s.Hand))
	}
	if s.Batch > 0 {
		words = append(words, fmt.Sprintf("%d inserted at a time", s.Batch))
	}
	if len(words) == 0 {
		return "default"
	}
	return strings.Join(words, ", ")
}

// env returns the environment variables that set Procs in a worker process.
func (s Setting) env() []string {
	if s.Procs == 0 {
		return nil
	}
	return []string{fmt.Sprint("GOMAXPROCS=", s.Procs)}
}

// settings returns two settings for each number in hands: with all cores per process, and with one.
func settings(hands ...int) (all []Setting) {
	for _, hand := range hands {
		all = append(all, Setting{Hand: hand}, Setting{Hand: hand, Procs: 1})
	}
	return all
}

type session interface {
	// run executes tasks 0 to n-1 and returns their duration and sum. run may be called again.
	run(ctx context.Context, n uint64) (time.Duration, work.Sum, error)
	close() error
}
