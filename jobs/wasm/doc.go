// Package wasm defines a job that runs a WebAssembly module. The module may come from any client,
// because a module can only compute. The results of a module have the same bytes on every
// processor:
//
//	GOOS=wasip1 GOARCH=wasm go build -o count.wasm .
//	bellwether run wasm -p input='logs/*.txt' -p merge=sum --send count.wasm -- count.wasm
//
//	lines of       module in an        standard
//	a partition ─▶ empty sandbox   ──▶ output ──▶ partial ──▶ merge ──▶ result
//
// Partitions, input, exit statuses, merges and estimates are the same as in package exec. Each call uses a new
// instance of the module with empty memory, so a call does not depend on earlier calls.
//
// A program that has this job beside its own also names execguard.Command and wasmhost.Command: see
// package cmd/cli/wasmhost.
//
// # Commands and reactors
//
// A module that exports _start is a command, like a program of the job exec. A call of a command
// reads standard input and writes standard output. The arguments of a command are the words after
// the module's name. The environment variables of a command are BELLWETHER_JOB and the variables
// with the endings _PHASE, _PARTITION, _PARTITIONS, _INPUT, _OFFSET, _LENGTH, _PREFIX and _MEMORY. With
// merge=program, a call of the
// phase merge gets the names of two files as additional arguments. With estimate=true and finish=true, calls
// of the phases estimate and finish get the name of one file.
//
// Any other module is a reactor. If a reactor exports the function _initialize, this function is
// called first. A reactor exports its memory and the following functions. The functions merge,
// estimate and finish are needed only for merge=program, estimate=true and finish=true.
//
//	alloc(size i32) i32                                              memory for an input
//	map(partition i64, partitions i64, input i32, length i32) i64    the output of a partition
//	merge(left i32, length i32, right i32, length i32) i64           the output of a merge
//	estimate(prefix i64, input i32, length i32) i64                  the estimate from the first partitions, as JSON
//	finish(input i32, length i32) i64                                the result
//
// An output is encoded as the address of its first byte times 2^32, plus the number of its bytes.
//
// # The sandbox
//
// A module may import only functions of WASI (wasi_snapshot_preview1). A module has no network. The
// only files of a module are the operands of a call, which are read-only. The clock begins at the
// same time in each call and advances by the same step whenever it is read. Sleeping takes no time.
// Random numbers depend only on the job's parameters, the phase, the partition and the input.
// WebAssembly does not define the bits of a NaN, so a module should write the same constant for all
// NaNs.
//
// Modules run in host processes, one for each slot ([HostMain]). A host process can be killed at
// once when a time limit has passed. Checks of the time in each loop of a module would make the
// module several times slower. A host process compiles each module once, or loads the machine code
// that another process of the worker has compiled. A worker keeps at most 512 MiB of machine code.
//
// # Memory
//
// The parameter memory is the maximum size of a module's memory in a call, rounded down
// to pages of 64 KiB. The value is part of the job, so memory.grow fails at the same size on every
// worker, and a result cannot depend on how much memory a worker has. At the limit, memory.grow
// returns -1 to the module. Then a program of Go ends with exit status 2, and malloc of C returns a
// null pointer. BELLWETHER_MEMORY tells a command the limit in advance. If the initial memory of a
// module is larger than the limit, the job fails when it is opened.
//
// The host process has a limit of its own, which protects the worker: the parameter memory, four
// times the parameter max-output, and 1 GiB. Package exec describes how it enforces the limit. A
// module can reach this limit with large tables, or if its code is so large that the compiler needs
// the memory. Then the host process is killed, and the attempt fails.
//
// Each slot has a host process, so a worker needs at least the parameter memory times the number of
// its slots. If it has less, the kernel may kill a host process or the worker.
//
// # Speed
//
// The compiler that made a module decides how fast the module is. Measured on 2 cores beside the same
// computation as a program of Go, by the contest "programs" of bench/peers: a module that clang 14
// made from C took 2.04 times as long for primes and 1.05 times as long for option prices. A module
// that Go 1.26 made took 5.07 and 3.17 times as long. So for code that computes much, choose C, or
// another language that LLVM compiles.
//
// # What can fail
//
//   - The module is not valid, is a component (the format of WASI preview 2), imports a function that
//     is not allowed, or lacks a required function: the job fails when it is opened.
//   - The module traps, for example by a division by zero: the attempt fails, with the trap's stack.
//   - The module needs more memory than the parameter memory allows: the memory does not grow, and
//     most modules then end with an error.
//   - The host process needs more than 1 GiB in addition to the parameter memory, for example for
//     tables: the process is killed, and the attempt fails.
//   - A call takes longer than the parameter timeout: the host process is killed.
//   - A call writes more than the parameter max-output allows: the job fails.
//   - The worker has no folder for temporary files, such as in an image made from scratch: the job
//     fails. The variable TMPDIR sets the folder.
//
// All errors name the phase. The folder examples has modules in Go and C.
package wasm
