import collections
import sys

count = collections.Counter()
for line in sys.stdin.buffer:
    count.update(line.split())
for word, n in count.items():
    print(word.decode(), n, sep="\t")
