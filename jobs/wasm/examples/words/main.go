//go:build wasip1

// Command words counts words, for merge=sum. This command builds the module words.wasm:
//
//	GOOS=wasip1 GOARCH=wasm go build -o words.wasm .
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Split(bufio.ScanWords)
	counts := map[string]int{}
	for in.Scan() {
		counts[in.Text()]++
	}
	if in.Err() != nil {
		fmt.Fprintln(os.Stderr, in.Err())
		os.Exit(1)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for word, n := range counts {
		fmt.Fprintf(out, "%s\t%d\n", word, n)
	}
}
