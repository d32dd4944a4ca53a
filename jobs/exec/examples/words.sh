#!/bin/sh
# Counts words, for merge=sum and keep=true.
while read -r number phase partition partitions length; do
	head -c "$length" | awk '{ for (i = 1; i <= NF; i++) n[$i]++ } END { for (w in n) print w "\t" n[w] }' > answer
	printf '%s ok %d\n' "$number" "$(wc -c < answer)"
	cat answer
done
