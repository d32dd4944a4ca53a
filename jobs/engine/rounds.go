package engine

// Round is one pass over all partitions of a job with rounds.
type Round struct {
	Number uint64 // number of the round, from 0
	State  []byte // encoded state with which the round's partitions are computed
}

// Step is what follows from a round.
type Step struct {
	State []byte  // encoded state of the next round, or the last state
	Done  bool    // there is no further round, so Finish computes the result from the state
	Value float64 // the number that the definition's Next returned for people, which is finite
}
