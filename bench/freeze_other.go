//go:build !unix

package bench

import "github.com/bellwether-compute/bellwether/cmd/cli/flock"

const canFreeze = false // nor call these

func freeze(*flock.Process) {}
func thaw(*flock.Process)   {}
