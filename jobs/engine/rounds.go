package engine

import (
	"strconv"
	"strings"
)

// Round is one pass over all partitions of a job with rounds.
type Round struct {
	Number uint64 // number of the round, from 1
	State  []byte // encoded state with which the round's partitions are computed
	Own    bool   // Next may change the memory of State, because nothing else uses it
}

// Step is what follows from a round.
type Step struct {
	State []byte  // encoded state of the next round, or the last state
	Done  bool    // there is no further round, so Finish computes the result from the state
	Value float64 // the number that the definition's Next returned for people, which is finite
}

// CountedRound returns the number of the current round for people, who count only rounds with partitions. If the current
// round is the last one, it is the number of the round that has computed its state. If it is the last one because the time was up,
// the round before it was stopped.
func CountedRound(number uint64, last, timeUp bool) uint64 {
	switch {
	case timeUp:
		return number - 2
	case last:
		return number - 1
	}
	return number
}

// Messages and the names of partials identify a round by the job's ID, a slash and the number of the round. Workers and
// leaders treat each round as a job. What comes late from an earlier round therefore belongs to a job that has ended.

// RoundID returns the ID of a round of a job.
func RoundID(job string, round uint64) string { return job + "/" + strconv.FormatUint(round, 10) }

// JobOf returns the ID of the job of a round, or the ID of a job without rounds.
func JobOf(id string) string {
	job, _ := SplitRound(id)
	return job
}

// SplitRound returns the job and the number of a round. The ID of a job without rounds is not changed, and has number 0.
func SplitRound(id string) (job string, round uint64) {
	job, number, found := strings.Cut(id, "/")
	if !found {
		return id, 0
	}
	round, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return id, 0
	}
	return job, round
}
