// The program refused reports which files of a folder "bellwether run scan" refuses, and why. It is for
// folders of public test files of other projects, such as apache/parquet-testing:
//
//	go run ./bench/internal/refused -bellwether bin/bellwether parquet-testing/data arrow-testing/data
//
// Every file whose name has one of the endings that scan knows is read with all its columns. The program
// prints the name of a refused file and the error, and at the end the numbers of both kinds of files.
// It exits with status 1 if a scan was killed by a signal or ran for longer than the time limit.
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
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	program := flag.String("bellwether", "bin/bellwether", "the program that scans")
	limit := flag.Duration("limit", 30*time.Second, "time limit of one scan")
	flag.Parse()
	if _, err := exec.LookPath(*program); err != nil {
		fmt.Fprintln(os.Stderr, "refused:", err)
		os.Exit(2)
	}
	if err := report(*program, *limit, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "refused:", err)
		os.Exit(1)
	}
}

var known = regexp.MustCompile(`(?i)\.(parquet|(csv|tsv|tab|ndjson|jsonl|txt|log)(\.gz|\.zst)?)$`)

// report scans the files below the folders.
func report(program string, limit time.Duration, folders []string) error {
	read, refused, died := 0, 0, 0
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || !known.MatchString(name) {
				return err
			}
			reason, err := scan(program, limit, name)
			switch {
			case err != nil:
				died++
				fmt.Printf("DIED %s: %v: %s\n", name, err, reason)
			case reason != "":
				refused++
				fmt.Printf("%s: %s\n", name, reason)
			default:
				read++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	fmt.Printf("read: %d, refused: %d\n", read, refused)
	if died > 0 {
		return fmt.Errorf("scans that died: %d", died)
	}
	return nil
}

// scan scans one file. It returns why scan refuses the file, and an error if the scan did not end by
// itself.
func scan(program string, limit time.Duration, name string) (reason string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var stderr bytes.Buffer
	// Patterns select names that contain a comma or characters of patterns.
	pattern := regexp.MustCompile(`[][*?,\\]`).ReplaceAllString(name, "?")
	cmd := exec.CommandContext(ctx, program, "run", "scan", "-o", "csv", "-p", "input="+pattern, "-p", "limit=100000")
	cmd.Stderr = &stderr
	err = cmd.Run()
	reason = strings.ReplaceAll(strings.TrimSpace(stderr.String()), "\n", " | ")
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() && ctx.Err() == nil {
		if _, after, ok := strings.Cut(reason, pattern+": "); ok {
			reason = after
		}
		return reason, nil
	}
	if err == nil {
		return "", nil
	}
	return reason, err
}
