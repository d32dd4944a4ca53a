import collections
import sys

count = collections.Counter()
text = sys.stdin.buffer
while block := text.read(1 << 20) + text.readline():
    count.update(block.split())
for word, n in count.items():
    print(word.decode(), n, sep="\t")
