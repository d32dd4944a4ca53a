package processes

import (
	"context"
	"os"
)

// CompileMPI compiles a C program with Open MPI, unless it is there, and returns its path.
func CompileMPI(ctx context.Context, program string, source []byte) (string, error) {
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.WriteFile(program+".c", source, 0o600); err != nil {
		return "", err
	}
	// Without the alignment, the speed of short loops depends on where in the program they happen to be.
	_, err := Output(ctx, "", "mpicc", "-O2", "-falign-loops=64", "-pthread", "-o", program, program+".c", "-lm")
	return program, err
}

// VersionMPI returns the version of Open MPI.
func VersionMPI(ctx context.Context) (string, error) { return Version(ctx, "Open MPI", "mpirun") }

// Python is the path of Debian's Python, which can import the Python packages of Debian.
const Python = "/usr/bin/python3"
