package testdata

import (
	"fmt"
	"os"
	"time"
)

func clock() time.Time { return time.Now() }

func run(done chan int) {
	go fmt.Println(os.Args)
	<-done
	done <- len(map[string]int{})
}
