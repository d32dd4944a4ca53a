// Package exec defines a job that runs a program, which may be written in any language. The program
// is called once for each partition. Standard output of the call is the partition's partial:
//
//	bellwether run exec -p input='logs/*.txt' -p merge=sum --send count.py -- python3 count.py
//	bellwether run exec -p input='photos/*.jpg' -p split=file -- exiftool {}
//	bellwether run exec -p input='photos/*.jpg' -p split=file -p output=small -- sh -c 'convert "$1" -resize 200 "$BELLWETHER_OUT/$1"' sh {}
//	bellwether run exec --items urls.txt -- ./check --url {}
//	bellwether run exec -p partitions=100 -p merge=sum -- /opt/simulate
//
//	lines of       process in a         standard
//	a partition ─▶ temporary folder ──▶ output ──▶ partial ──▶ merge ──▶ result
//
// A program that has this job beside its own also names execguard.Command: see package cmd/cli/execguard.
//
// If the parameter input names objects, each partition is a range of these objects. The parameter
// block is the approximate size of a range in bytes. A call gets the lines that begin in its range
// on standard input, and need not read all lines. The bytes are those of the objects: if the last line
// of an object has no newline, it gets one only if lines of another object follow in the same call.
// Without the parameter input, standard input is empty.
//
// # What a call gets
//
//	split=lines            the lines of about block bytes, on standard input
//	split=lines lines=N    N lines; the last call of an object may get fewer
//	split=file             one object, as it is stored: on standard input, or as a file if {} is in the arguments
//	--items FILE           one item, a line of the file that is not empty: an argument of the program
//	--items FILE lines=N   N items
//	partitions=N           nothing but its variables
//
// In the arguments of the program, {} stands for the items of the call, or for the name of the file that
// contains the object. Without {}, the items follow the arguments. The file is a copy in the working folder. Its
// name is the last part of the object's name, after an underscore if that begins with a dash or a dot. Since a
// shell would run commands in an item, the script after sh -c cannot contain {}: write "$1" in the
// script, and sh {} after it. A kept process gets items as the lines of its calls' data.
//
// With lines=N, the plan of the job reads the whole input once, so the objects must not be compressed.
//
// # A call
//
// The program gets its arguments unchanged, without a shell. The program's working folder is a
// temporary folder, which is removed after the call. The folder contains the files that were
// submitted with --send. The program cannot change submitted files. Submitted files are stored
// together with the job, and each worker fetches the files once. Of the worker's environment
// variables the program gets only PATH, HOME and LANG. TMPDIR is the working folder. These
// environment variables describe the call:
//
//	BELLWETHER_JOB          identifies the parameters and the files; the same for each submission
//	BELLWETHER_PHASE        map, merge, estimate or finish
//	BELLWETHER_PARTITION    index of the partition, from 0
//	BELLWETHER_PARTITIONS   number of partitions
//	BELLWETHER_OUT          folder for files, with the parameter output, in the phase map
//	BELLWETHER_MEMORY       parameter memory in bytes; 0: no limit
//	BELLWETHER_INPUT        names of the objects that the call reads, separated by newlines
//	BELLWETHER_OFFSET       offset of the range in the object; 0 for several objects
//	BELLWETHER_LENGTH       bytes of the range
//	BELLWETHER_PREFIX       number of partitions whose outputs are merged, in the phase estimate
//
// PARTITION, PARTITIONS, INPUT, OFFSET and LENGTH are set in the phase map only. A program does not
// get the number of the attempt or the name of the machine. A program whose output depends only on
// its arguments, files, variables and input gives the same result, even if processes die.
//
// Exit statuses have the meanings of sysexits.h. Status 0 means success. After status 64 (usage) or
// 65 (data) the job fails at once. After status 75 (temporary failure) the call is retried after a
// pause and does not count as an attempt. The attempt fails if the program exits with any other
// status, is ended by a signal, or exceeds a limit. The error of the attempt contains the last 4
// KiB of standard error. The command logs shows standard error, by partition and attempt.
//
// # Files
//
// With the parameter output, the folder BELLWETHER_OUT exists in the working folder of each call of the phase
// map. If the call succeeds, the worker writes the files of the folder to objects of the output, under names of
// the attempt; the partial lists them, and the end of the job commits the list, as package output says. Whatever dies, the
// list has the files of each call exactly once, and those of a failed or skipped call not at all. The command
// "bellwether output" lists and copies them, with the paths that the program has given them. A call may write
// 10,000 files, in all of max-output bytes. Links and pipes, and files of other users, are errors. The
// list names the item of each file: the object, or the arguments from --items. With "submit --max-skipped N", up to
// N calls may fail in all of their attempts. The files of the other calls stand, and "bellwether output" names
// the failed items with the last lines of their standard error. When their cause is repaired, "bellwether retry" makes only the
// failed calls again, and adds their files to the list.
//
// # Kept processes
//
// The start of a process takes a millisecond or more, and the start of an interpreter tens of
// milliseconds. With the parameter keep, a process makes many calls, one at a time. A call and its
// answer are frames on standard input and standard output. A frame is a line, followed by data. The
// last word of the line is the number of bytes of the data. The first word of a call is the number of
// the call, which the answer repeats:
//
//	call     NUMBER map PARTITION PARTITIONS LENGTH    the input
//	         NUMBER merge LEFT RIGHT LENGTH            two outputs, of LEFT and of RIGHT bytes
//	         NUMBER estimate PREFIX 0 LENGTH           the merged outputs of the first PREFIX partitions
//	         NUMBER finish 0 0 LENGTH                  the merged outputs
//	answer   NUMBER ok LENGTH                          the output
//	         NUMBER fail LENGTH                        an error; the attempt has failed
//	         NUMBER permanent LENGTH                   an error; the job fails
//	         NUMBER again 0                            the call is made again after a pause
//
// Unless the parameter merge is program, a slot sends calls before the answers to earlier calls
// have arrived. The unanswered calls are at most 4 KiB long, and the process should need about 10
// ms for them. A program should therefore read its input through a buffer. The
// program should write its answers before it waits for more input. If the process dies, the unanswered calls are retried one at
// a time. The error then names the call during which the process dies again.
//
// The answer to a call must not depend on earlier calls. A kept process should end when its
// standard input ends. The environment of a kept process contains neither the phase nor the
// partition. The folder examples has a module for Python and programs in Python, C++ and shell.
//
// # Merges
//
//	concat   the outputs in the order of the partitions
//	sum      lines of a key, a tab and a decimal number: the sum of each key, exact
//	min max  the same lines: the least or the greatest number of each key
//	top:N    the same lines: the N lines with the greatest numbers, the greatest first
//	sorted   all lines, in the order of their bytes
//	json     one JSON object per call: objects are merged, numbers added exactly, arrays joined;
//	         two members of one name and half of a surrogate pair are errors
//
//	hll      lines of a key, a tab and a value: how many distinct values each key has, exact up to
//	         4096, above that with a standard error of 0.8 %
//	ddsketch lines of a key, a tab and a number: for each key, separated by tabs, how many numbers
//	         there are, and their quantiles 0.5, 0.9, 0.95 and 0.99, within 0.4 %
//	program  a call of the program with two files, whose names are added to its arguments
//
// With the parameter finish, the program is also called with a file that contains the merged
// outputs. Calls for merges have the phase merge, and the last call has the phase finish. Standard
// output of calls in the phases merge and finish is the merged output or the result. A merge gets
// the outputs of neighbouring partitions, in order. The names of the files begin with a dot. All
// rules for calls also apply to the phases merge, estimate and finish, and a failed call is retried like a
// partition. Only workers that may run the job make the calls of these phases, and not the leader.
//
// Merged outputs of concat, sum, min, max, top and sorted may be larger than the memory of a worker, which then merges them
// from file to file. With the parameter finish, and for the other merges, they must fit into memory. The output of one call
// must fit into memory twice.
//
// A line without a tab is a number whose key is empty. The outputs of sum, min and max are sorted
// by the bytes of the keys.
//
// # Estimates
//
//	bellwether submit exec -p partitions=1000 -p merge=program -p estimate=true --stop-after 10m -- ./simulate
//
// With the parameter estimate, a running job shows what its first calls say about the result. The program is
// called with a file that contains the merged outputs of the first n partitions, for the rungs n = 1, 2, 3, 4, 5, 6, 7,
// 8, 10, 12, 14, 16, 20 and so on, in this order. It writes JSON of at most 1 KiB: a number, or an
// object with the members value, low and high, is drawn as a curve with its band, and any other value is shown
// as it is. If it writes nothing, there is no estimate yet. Output that is not JSON fails the job. A job with
// estimates may be submitted with --stop-after, which ends it with the merged outputs of a prefix.
//
// # What can fail
//
//   - A call takes longer than the parameter timeout, or its job is cancelled: all processes of the
//     call's process group get SIGTERM, and after 5 s SIGKILL.
//   - A call uses more memory than the parameter memory allows: its processes are killed. If the
//     parent of the worker's control group (version 2) is delegated to the worker and limits memory, as
//     with Delegate=memory and DelegateSubgroup=worker in a unit of systemd 254 or later, each call has
//     a control group of its own. Otherwise the resident memory of the program and of all processes that
//     it has started is measured every 100 ms, so a program may exceed the limit for 100 ms.
//   - A call writes more than the parameter max-output allows: its processes are killed, and the
//     job fails.
//   - A kept process does not write exactly one answer for each call, in the order of the calls: the
//     process is killed, and the job fails.
//   - The files of a call cannot be stored, because the folder of the output is not available: the attempt
//     fails. What it has stored is removed at the end of the job, as package output says.
//   - The folder of the output has the manifest of an earlier job: the job fails.
//   - A program ends before the processes that it has started: these processes are killed, even if
//     they have left the process group like daemons. Without a control group for each call, a process
//     escapes from this and from the limit of memory if it has left the group, its parent has ended, and it
//     has cleared TMPDIR and changed its working folder before it was measured.
//   - The worker dies: the kernel kills the program, and a guard process ([Guard]) kills the
//     processes that the program has started and removes the folders.
//   - The program is missing on a worker, or the worker's list of programs does not contain it: the
//     job fails.
//   - The input cannot be read, or has changed since it was listed: the program is stopped, and its
//     output is ignored. The documentation of package dataset lists the errors after which the
//     partition is retried.
//
// The job is restricted, because a client that may submit the job can run any program as the user
// of the worker. Workers run the job only if they are started with --allow exec. The flag
// --exec-programs limits the programs, and --exec-user sets another user; in Go, jobs.Grant contains
// both, and allows no program by default. A list with an interpreter such as python3 limits little,
// because submitters choose its arguments and files. The job needs Linux.
package exec
