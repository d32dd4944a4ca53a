// Package folder is a driver of package store that keeps values in a folder of files. It serves one
// machine: the values that "bellwether run --reuse" keeps.
//
//	FOLDER/kept/0123/abc@     the value of the key kept/0123/abc
//	FOLDER/.lock              locked by a process while it compares and swaps
//	FOLDER/.new-…             a value that is being written
//
// A file begins with the version of the value, a random number, so versions are never reused. A write
// syncs a temporary file and renames it, so a reader sees the old or the new value, also after a crash of
// the machine.
//
// # What can fail
//
//   - The file system is full: store.ErrFull.
//   - Another process holds the lock for longer than a few seconds, for example because it is stopped:
//     store.ErrUnavailable.
//   - A process dies during a write: the temporary file stays, and [Open] removes it after an hour.
//   - The system has no file locks (only Unix has): Open returns an error.
package folder
