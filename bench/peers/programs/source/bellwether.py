"""Answers the calls of the job exec with the parameter keep."""

import io
import sys


class Permanent(Exception):
    """The job fails at once, since another attempt would fail too."""


class Again(Exception):
    """The call is made again later, which does not count as an attempt."""


class Calls(io.FileIO):
    def readinto(self, buffer):
        answers.flush()  # before waiting for a call
        return super().readinto(buffer)


def serve(function, merge=None, finish=None, estimate=None):
    """Calls function(data, partition, partitions), merge(left, right), finish(data), estimate(data, prefix): each returns bytes."""
    phases = {b"map": function, b"finish": lambda data, *_: finish(data)}
    phases[b"estimate"] = lambda data, prefix, _: estimate(data, prefix)
    phases[b"merge"] = lambda data, left, _: merge(data[:left], data[left:])
    sys.stdout = sys.stderr  # what the functions print is no answer
    calls = io.BufferedReader(Calls(0), 1 << 16)
    for line in calls:
        number, phase, *numbers, length = line.split()
        data = calls.read(int(length))
        try:
            status, answer = b"ok", phases[phase](data, *map(int, numbers))
        except Again:
            status, answer = b"again", b""
        except Exception as error:
            status = b"permanent" if isinstance(error, Permanent) else b"fail"
            answer = (str if status == b"permanent" else repr)(error).encode()
        answers.write(b"%s %s %d\n%s" % (number, status, len(answer), answer))


answers = sys.stdout.buffer
