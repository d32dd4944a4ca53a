// Package command runs a command while this process, the elector, holds a lease. The elector ends
// the command before it can lose the lease.
//
//	elector (holds the lease)              watchdog                  command
//	─────────────────────────              ────────                  ───────
//	Run ── starts ───────────────────────▶ Watchdog ── starts ─────▶ own process group
//	    ── deadline, stop, kill (stdin) ─▶     │
//	    ◀─ started, exited (descriptor 3) ─    └─ SIGTERM, SIGKILL ─▶ the whole group
//
// The elector renews the lease and sends the watchdog each new deadline, that is, the time until
// which the lease can be trusted. The watchdog sends SIGTERM to the command a grace period before
// the deadline, and SIGKILL at the deadline. The watchdog stops the command at the deadline even if
// it gets no further message from the elector. Deadlines are times of a clock that both processes
// share; on Linux this clock also advances while the machine is suspended.
//
// # What can fail
//
//   - The elector cannot renew the lease: the deadline is not extended, and the watchdog stops the
//     command before the lease expires.
//   - The elector is suspended (SIGSTOP): the watchdog stops the command before the lease expires.
//     A terminal sends a signal: the watchdog and the command do not get it, because they have
//     separate process groups.
//   - The elector dies: the watchdog notices the end of its standard input and stops the command
//     with SIGTERM, and with SIGKILL after the grace period or at the deadline.
//   - The lease is lost before its deadline, because an operator broke it: the elector tells the
//     watchdog to send SIGKILL immediately.
//   - The watchdog dies: the elector kills the command's process group, and on Linux the kernel
//     kills the command.
//   - The watchdog is suspended (SIGSTOP): the elector itself kills the command's process group at
//     the deadline.
//   - The elector and the watchdog are suspended together but the command is not, or the whole
//     machine is suspended: the command continues to run after the deadline. After the machine
//     resumes, the command may run for up to 100 ms. Against an overlap after a suspension only the
//     fencing token helps: the resource to which the command writes must refuse an epoch below the
//     highest epoch that it has seen.
//   - Processes that leave the command's process group, as daemons do: they are not stopped.
//
// Package command works on Unix only, and is meant for Bellwether's command line.
package command
