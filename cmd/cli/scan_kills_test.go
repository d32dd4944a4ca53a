package cli_test

import (
	"bufio"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

var (
	scanKills  = flag.Int("scan.kills", 3, "number of workers that TestScanOutputUnderKills kills")
	scanRows   = flag.Int("scan.rows", 200_000, "number of rows of each job of TestScanOutputUnderKills")
	scanOutput = flag.String("scan.output", "", "folder for the outputs of TestScanOutputUnderKills, which are kept")
)

// Workers are killed while jobs write their rows to objects. Each row must be in the output once, in the order
// of the input, and the folder must contain no other objects.
func TestScanOutputUnderKills(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(dir, "input.csv")
	writeNumbers(t, input, *scanRows)
	out := *scanOutput
	if out == "" {
		out = dir
	}
	c := newTestCluster(t, onJetStream, 3, "--files", dir+string(filepath.ListSeparator)+out)
	random := rand.New(rand.NewPCG(1, 2))
	for job, kills := 0, 0; kills < *scanKills; job++ {
		folder := filepath.Join(out, fmt.Sprintf("out%d", job))
		var submitted struct {
			ID string `json:"id"`
		}
		c.do(&submitted, "submit", "scan", "-p", "input="+input, "-p", "where=int(number) % 3 != 1", "-p", "block=100000", "-p", "output="+folder, "--max-attempts", "100")
		before := uint64(0)
		for ended := false; !ended; {
			c.until("a partition is done, or the job has ended", func() bool {
				var s statusAnswer
				c.do(&s, "status", submitted.ID)
				ended = s.State != "queued" && s.State != "running"
				moved := s.Done > before
				before = max(before, s.Done)
				return ended || moved
			})
			if running := c.Running(); !ended && kills < *scanKills {
				c.kill(running[random.IntN(len(running))])
				kills++
				if _, err := c.Start(); err != nil {
					t.Fatal(err)
				}
			}
		}
		var got outcomeAnswer
		if status := c.ask(&got, "result", submitted.ID); status != 0 || got.State != "completed" {
			t.Fatalf("job %d: status %d, %+v", job, status, got)
		}
		rows, objects := readNumbers(t, folder)
		t.Logf("job %d: %d rows in %d objects, %d partitions, %d repeated, %d leaders, %d kills so far", job, rows, objects, got.Partitions, got.Repeated, len(got.Epochs), kills)
	}
}

// writeNumbers writes a table of the numbers below n.
func writeNumbers(t *testing.T, name string, n int) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "number,text")
	for i := range n {
		fmt.Fprintf(w, "%d,\"some text, and more\"\n", i)
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// readNumbers reads the objects of an output in the order of their names, and fails the test unless they contain
// the numbers below scanRows that do not leave a remainder of 1 when divided by 3, in order.
func readNumbers(t *testing.T, folder string) (rows, objects int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "part-*")) // in order
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		r := csv.NewReader(bufio.NewReader(f))
		if _, err := r.Read(); err != nil {
			t.Fatal(err)
		}
		for {
			row, err := r.Read()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if row[0] != strconv.Itoa(next) {
				t.Fatalf("%s: got row %s, want %d", name, row[0], next)
			}
			if next++; next%3 == 1 {
				next++
			}
			rows++
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if next < *scanRows {
		t.Fatalf("got the rows below %d, want those below %d", next, *scanRows)
	}
	return rows, len(names)
}
