package bench

import "fmt"

// measure runs a benchmark if its configuration is valid. It replaces a missing function for progress.
func measure[R any](name string, progress *func(doing string, done, all uint64), invalid error, run func() (R, error)) (R, error) {
	var none R
	if *progress == nil {
		*progress = func(string, uint64, uint64) {}
	}
	if invalid != nil {
		return none, fmt.Errorf("configure %s benchmark: %w", name, invalid)
	}
	r, err := run()
	if err != nil {
		return none, fmt.Errorf("measure %s: %w", name, err)
	}
	return r, nil
}
