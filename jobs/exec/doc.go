// Package exec is a job that runs a program in any language. Each partition is one call of the
// program, and what the calls write to standard output is merged along the tree:
//
//	bellwether run exec -p input='logs/*.txt' -p merge=sum --send count.py -- python3 count.py
//	bellwether run exec -p partitions=100 -p merge=sum -- /opt/simulate
//
//	lines of       process in a         standard
//	a partition ─▶ temporary folder ──▶ output ──▶ partial ──▶ merge ──▶ result
//
// With the parameter input, the partitions are ranges of about block bytes of the objects, and a
// call reads the lines that begin in its range from standard input: see dataset.Lines. A program
// need not read all of them. Without input, standard input is empty.
//
// # A call
//
// The program gets its arguments as given, without a shell. Its working folder is temporary. The
// folder has the files of --send, which cannot be written, and is removed after the call. The files
// are stored together with the job, and each worker fetches them once. Of the worker's environment it sees PATH, HOME and LANG.
// TMPDIR is the working folder. These variables say what to compute:
//
//	BELLWETHER_PHASE        map
//	BELLWETHER_PARTITION    index of the partition, from 0
//	BELLWETHER_PARTITIONS   number of partitions
//	BELLWETHER_MEMORY       parameter memory in bytes; 0: no limit
//	BELLWETHER_INPUT        names of the objects that the call reads, separated by newlines
//	BELLWETHER_OFFSET       where the range begins in the object; 0 if there are several objects
//	BELLWETHER_LENGTH       bytes of the range
//
// A program does not learn which attempt a call is, when it runs, or on which machine. So what it
// writes need not depend on that, and the result has the same bytes whatever dies.
//
// The exit status has the meaning of sysexits.h: 0 means success. With 64 (usage) and 65 (data) the
// job fails at once. With 75 (temporary failure) the program is called again after a pause, and this
// does not count as an attempt. Any other status, a signal, and a limit that was exceeded make the
// attempt fail. The error has the last 4 KiB of standard error.
//
// # Merges
//
//	concat   the outputs in the order of the partitions
//	sum      lines of a key, a tab and a decimal number: the sum of each key, exact
//	min max  the same lines: the least or the greatest number of each key
//	top:N    the same lines: the N lines with the greatest numbers, the greatest first
//	sorted   all lines, in the order of their bytes
//	json     one JSON object per call: objects are merged, numbers added exactly, arrays joined
//
// A line without a tab is a number whose key is empty. The output of sum, min and max has the keys
// in the order of their bytes.
//
// # What can fail
//
//   - A call takes longer than the parameter timeout, or its job is cancelled: all processes of its
//     process group get SIGTERM, and SIGKILL after 5 s.
//   - A call uses more memory than the parameter memory: its processes are killed. The resident
//     memory is measured every 100 ms, so a program can exceed the limit for this long.
//   - A call writes more than max-output: its processes are killed, and the job fails.
//   - A program leaves other processes: they are killed when the program has ended. Processes that
//     leave the process group, as daemons do, are not killed.
//   - The worker dies: the kernel kills the program, and a guard process kills the processes that
//     the program has started. See [Guard].
//   - The program is missing on a worker: the job fails.
//   - The input cannot be read, or has changed since it was listed: the program is stopped, and what
//     it wrote does not count. Package dataset says which errors are tried again.
//
// The job is restricted, because a client that may submit it can run any program as the user of the
// worker: workers run it only if they are started with --allow exec. It needs Linux.
package exec
