"""Answers the calls of the job exec with the parameter keep."""

import sys


class Permanent(Exception):
    """The job fails at once, since another attempt would fail too."""


class Again(Exception):
    """The call is made again later, which does not count as an attempt."""


def serve(function, merge=None, finish=None):
    """Calls function(data, partition, partitions), merge(left, right), finish(data): each returns bytes."""
    phases = {
        b"map": function,
        b"merge": lambda data, left, _: merge(data[:left], data[left:]),
        b"finish": lambda data, *_: finish(data),
    }
    calls, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what the functions print is no answer
    for line in calls:
        phase, *numbers, length = line.split()
        data = calls.read(int(length))
        try:
            status, answer = b"ok", phases[phase](data, *map(int, numbers))
        except Again:
            status, answer = b"again", b""
        except Permanent as error:
            status, answer = b"permanent", str(error).encode()
        except Exception as error:
            status, answer = b"fail", repr(error).encode()
        answers.write(b"%s %d\n%s" % (status, len(answer), answer))
        answers.flush()
