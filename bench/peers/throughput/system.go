package throughput

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/work"
)

// System is one of those compared.
type System struct {
	Name       string
	Versions   func(context.Context, Place) (string, error)
	Durability string // what is kept if the power fails, and when
	Tuning     string // what is set otherwise than by default
	Settings   []Setting
	open       func(context.Context, Place, work.Work, Setting) (session, error)
}

// Place is where and with how many processes systems are run.
type Place struct {
	Dir       string // for data; exists
	Program   string // path of the bellwether program
	Processes int
	Slots     int // per process
}

func (p Place) cores() int { return p.Processes * p.Slots }

// Setting is one way to run a system.
type Setting struct {
	Procs int `json:"gomaxprocs"` // of each worker process; 0: the machine's cores
	Hand  int `json:"in_hand"`    // tasks that a worker process may have taken and not done; 0: not a setting of this system
	Batch int `json:"batch"`      // tasks inserted at a time; 0: not a setting of this system, or one by one
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

// env is the setting as a worker process' environment.
func (s Setting) env() []string {
	if s.Procs == 0 {
		return nil
	}
	return []string{fmt.Sprint("GOMAXPROCS=", s.Procs)}
}

// settings are all combinations with one and with all cores per process.
func settings(hands ...int) (all []Setting) {
	for _, hand := range hands {
		all = append(all, Setting{Hand: hand}, Setting{Hand: hand, Procs: 1})
	}
	return all
}

// session is a system that runs.
type session interface {
	// run does tasks 0 to n-1 and says how long that took. It may be called again.
	run(ctx context.Context, n uint64) (time.Duration, work.Sum, error)
	close() error
}
