//go:build !unix

package bench

import "github.com/bellwether-compute/bellwether/deploy/local/procs"

const canFreeze = false // this system cannot suspend processes, so freeze and thaw are never called

func freeze(*procs.Process) {}
func thaw(*procs.Process)   {}
