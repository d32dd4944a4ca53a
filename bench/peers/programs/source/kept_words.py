"""Counts words, for merge=sum."""

import collections

import bellwether


def count(data, partition, partitions):
    words = collections.Counter(data.split())
    return b"".join(b"%s\t%d\n" % pair for pair in words.items())


bellwether.serve(count)
