// Package command runs a command while this process, the elector, holds a lease. The
// command is ended before the lease can be lost.
//
//	elector (holds the lease)              watchdog                  command
//	─────────────────────────              ────────                  ───────
//	Run ── starts ───────────────────────▶ Watchdog ── starts ─────▶ own process group
//	    ── deadline, stop, kill (stdin) ─▶     │
//	    ◀─ started, exited (descriptor 3) ─    └─ SIGTERM, SIGKILL ─▶ the whole group
//
// The elector renews the lease and tells the watchdog each new deadline, the instant until which
// the lease can be trusted. The watchdog sends SIGTERM to the command a grace period before the
// deadline, and SIGKILL at the deadline. The watchdog needs no further message from the elector to
// do this. Deadlines are instants of a clock that both processes share; on Linux this clock also
// advances while the machine is suspended.
//
// # What can fail
//
//   - The elector cannot renew the lease: the deadline is not extended, and the watchdog stops the
//     command before the lease expires.
//   - The elector is suspended (SIGSTOP): the watchdog stops the command before the
//     lease expires. The watchdog and the command have separate process groups, so a
//     terminal's signals do not reach them.
//   - The elector dies: the watchdog reads the end of its standard input and stops the
//     command, first with SIGTERM, then with SIGKILL after the grace period or at the
//     deadline.
//   - The lease is lost before its deadline, because an operator broke it: the elector tells the
//     watchdog to send SIGKILL immediately.
//   - The watchdog dies: on Linux the kernel kills the command. The elector also kills the command's process
//     group.
//   - The watchdog is suspended (SIGSTOP): the elector itself kills the command's process group at
//     the deadline.
//   - The elector and the watchdog are suspended together but the command is not, or the whole machine is
//     suspended and resumed: the command continues to run after the deadline. When the machine resumes, the
//     command may run for up to 100 ms. Only the fencing token protects against this case: the resource to
//     which the command writes must refuse an epoch below the highest epoch that it has seen.
//   - Processes that leave the command's process group, as daemons do, are not stopped.
//
// The package works on Unix only, and is meant for Bellwether's command line.
package command
