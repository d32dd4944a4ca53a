//go:build !unix

package bench

import "github.com/bellwether-compute/bellwether/deploy/local/procs"

const canFreeze = false // freeze and thaw are never called on this system

func freeze(*procs.Process) {}
func thaw(*procs.Process)   {}
