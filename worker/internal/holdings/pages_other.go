//go:build !linux

package holdings

func useHugePages([]byte) {}
