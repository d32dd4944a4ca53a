//go:build !linux

package holdings

import "os"

func writeBack(*os.File, int64) {}
