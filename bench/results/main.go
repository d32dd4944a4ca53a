// Results runs the benchmarks as a user would and renews bench/RESULTS.md:
//
//	go run ./bench/results [-quick] [-program bin/bellwether] [SECTION…]
//
// Each section is a command, what it printed, and its plot, with the machine and the
// versions. It is kept in a file of its own in bench/results, and RESULTS.md is all of
// these in order, so that one section can be renewed without the others. Section peers
// is what bin/peers prints, which 'make bench-peers' builds; it takes half an hour
// and servers of others, and is renewed only where it is named.
//
// It is called in the root folder of the repository. A command that fails ends it;
// sections that were renewed before stay so.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	quick := flag.Bool("quick", false, "try the commands with small settings, and write to a temporary folder")
	program := flag.String("program", filepath.Join("bin", "bellwether"), "the program to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := renew(ctx, *program, *quick, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

// renew runs the sections of these names, or all, and writes RESULTS.md.
func renew(ctx context.Context, program string, quick bool, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(sections, func(s section) bool { return s.name == name }) {
			return fmt.Errorf("there is no section %q, want some of %s", name, sectionNames())
		}
	}
	dir := "bench"
	if quick {
		var err error
		if dir, err = os.MkdirTemp("", "bellwether-results-"); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "writing to", dir)
	}
	if err := os.MkdirAll(filepath.Join(dir, "results"), 0o755); err != nil {
		return err
	}
	for _, s := range sections {
		if !slices.Contains(names, s.name) && (len(names) > 0 || s.name == peers) {
			continue
		}
		if err := s.renew(ctx, program, dir, quick); err != nil {
			return fmt.Errorf("renew %s: %w", s.name, err)
		}
	}
	return assemble(dir)
}

func sectionNames() string {
	var names []string
	for _, s := range sections {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

// renew runs the section's command and writes its file and its plot.
func (s section) renew(ctx context.Context, program, dir string, quick bool) error {
	args := s.args
	if quick {
		args = slices.Concat(args, s.quick)
	}
	text, err := s.measure(ctx, program, dir, args)
	if err != nil {
		return err
	}
	text = append(fmt.Appendf(nil, "## %s\n\n%s\n\n", s.title, strings.TrimSpace(s.about)), text...)
	return os.WriteFile(filepath.Join(dir, "results", s.name+".md"), text, 0o644)
}

// measure runs the section's command and returns what is to be said of it.
func (s section) measure(ctx context.Context, program, dir string, args []string) ([]byte, error) {
	if s.name == peers {
		args = slices.Concat([]string{"-bellwether", program, "-o", "markdown"}, args, []string{"all"})
		text, err := output(ctx, filepath.Join("bin", "peers"), args)
		return append(bytes.TrimSpace(text), '\n'), err
	}
	versions, err := versionsOf(program, slices.Contains(args, "azure"))
	if err != nil {
		return nil, err
	}
	plot := s.name + ".svg"
	args = slices.Concat([]string{"bench"}, args, []string{"--plot", filepath.Join(dir, "results", plot)})
	began := time.Now()
	printed, err := output(ctx, program, args)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "    $ %s %s\n\n", program, strings.Join(args, " "))
	for line := range strings.Lines(string(printed)) {
		text.WriteString(strings.TrimRight("    "+strings.TrimRight(line, "\n"), " ") + "\n")
	}
	fmt.Fprintf(&text, "\n![%s](results/%s)\n\n%s. It took %s, on %s.\n", s.title, plot, versions, time.Since(began).Round(time.Second), began.UTC().Format(time.DateOnly))
	return text.Bytes(), nil
}

// output is what a command printed.
func output(ctx context.Context, program string, args []string) ([]byte, error) {
	fmt.Fprintln(os.Stderr, program, strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it removes what it has started
	cmd.Stderr = os.Stderr
	return cmd.Output()
}

const head = `# Results

What the benchmarks gave, with the command for each. ` + "`make bench`" + ` renews all sections but
the last, which ` + "`make bench-peers`" + ` does; ` + "`make bench SECTIONS=\"NAME…\"`" + ` renews those whose
plots have these names. Figures of one section were taken in one run. Those of different
sections are not to be compared: even the same machine is not the same from one minute to
the next. Package bench says how each is measured.
`

// assemble joins the sections that there are.
func assemble(dir string) error {
	text := []byte(head)
	for _, s := range sections {
		section, err := os.ReadFile(filepath.Join(dir, "results", s.name+".md"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("join the sections: %w", err)
		}
		text = append(append(text, '\n'), section...)
	}
	return os.WriteFile(filepath.Join(dir, "RESULTS.md"), text, 0o644)
}
