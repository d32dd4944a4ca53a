// Package wasm defines a job that runs a WebAssembly module. The module may come from any client,
// since it cannot do more than compute, and its results have the same bytes on every processor:
//
//	GOOS=wasip1 GOARCH=wasm go build -o count.wasm .
//	bellwether run wasm -p input='logs/*.txt' -p merge=sum --send count.wasm -- count.wasm
//
//	lines of       module in an        standard
//	a partition ─▶ empty sandbox   ──▶ output ──▶ partial ──▶ merge ──▶ result
//
// The partitions, the input, the exit statuses and the merges are those of package exec. A call is
// an instance of the module with fresh memory, so nothing stays of the calls before it.
//
// # Commands and reactors
//
// A module that exports _start is a command, like a program of the job exec: a call reads standard
// input and writes standard output. Its arguments are those that follow the module's name, and its
// environment variables BELLWETHER_JOB, _PHASE, _PARTITION, _PARTITIONS and _MEMORY. With
// merge=program, a call of the phase merge gets the names of two files as further arguments, and
// with finish=true a call of the phase finish gets the name of one.
//
// Any other module is a reactor. Its function _initialize is called first, if there is one. It
// exports its memory and these functions, of which merge and finish are needed only if the
// parameters merge and finish ask for them:
//
//	alloc(size i32) i32                                              memory for an input
//	map(partition i64, partitions i64, input i32, length i32) i64    the output of a partition
//	merge(left i32, length i32, right i32, length i32) i64           the output of a merge
//	finish(input i32, length i32) i64                                the result
//
// An output is the address of the first byte times 2^32, plus the number of bytes.
//
// # The sandbox
//
// A module may import only functions of WASI (wasi_snapshot_preview1). There is no network. The
// only files are the operands of a call, which cannot be changed. The clock begins at the same time
// in each call and advances by the same step whenever it is read; to sleep takes no time. Random numbers depend only on the
// job's parameters, the phase, the partition and the input. The only thing that WebAssembly leaves
// open is the bits of a NaN, so a module that writes NaNs should write one constant for all of them.
//
// Modules run in processes of their own, one for each slot: see [HostMain]. A process can be killed
// at once when its time is over, without a check in each loop of the module, which would make the
// module several times slower. A process compiles each module once, or loads the machine code that
// another process of the worker has compiled.
//
// # What can fail
//
//   - The module is not valid, imports another function, or lacks one: the job fails when it is
//     opened.
//   - The module traps, for example by a division by zero: the attempt fails, with the trap's stack.
//   - The module needs more memory than the parameter memory allows: it cannot grow, and usually
//     ends itself.
//   - The process that runs the module needs 1 GiB more than that, for example for tables: it is killed,
//     and the attempt fails.
//   - A call takes longer than the parameter timeout: its process is killed.
//   - A call writes more than the parameter max-output allows: the job fails.
//   - The worker has no folder for temporary files, such as in an image made from scratch: the job
//     fails. TMPDIR names the folder.
//
// All errors name the phase. The folder examples has modules in Go and C.
package wasm
