package bench

import "runtime"

// cores is how many of the machine's cores this process may use.
func cores() int { return runtime.GOMAXPROCS(0) }
