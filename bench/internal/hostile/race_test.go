//go:build unix && race

package hostile

func limitMemory() {}
