package report

// Setup says where and how often a benchmark measures.
type Setup struct {
	Program  string // path of the bellwether program
	Dir      string // folder for data, which must exist
	Rounds   int
	Progress func(format string, args ...any) // receives progress messages
}
