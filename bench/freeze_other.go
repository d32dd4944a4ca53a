//go:build !unix

package bench

import "github.com/bellwether-compute/bellwether/deploy/local/procs"

const canFreeze = false // nor call these

func freeze(*procs.Process) {}
func thaw(*procs.Process)   {}
