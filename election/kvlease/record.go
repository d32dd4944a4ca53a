package kvlease

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bellwether-compute/bellwether/election"
)

// formatVersion must be changed if older programs would misread the new records.
const formatVersion = 1

// errFormat is the error for a value that is not a record, or not in a format that this program
// knows.
var errFormat = errors.New("unknown format of the lease record")

// stored is the form of a record in storage: JSON, so that any tool can show it.
type stored struct {
	Version int    `json:"version"`
	Epoch   uint64 `json:"epoch"`
	Holder  string `json:"holder"`
	LeaseID string `json:"lease_id"`
	Held    bool   `json:"held"`
}

func encode(r election.Record) []byte {
	data, err := json.Marshal(stored{formatVersion, r.Epoch, r.Holder, r.LeaseID, r.Held})
	if err != nil {
		panic(err) // cannot happen, because strings and numbers can always be encoded
	}
	return data
}

func decode(data []byte) (election.Record, error) {
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return election.Record{}, fmt.Errorf("%w: %w", errFormat, err)
	}
	if s.Version != formatVersion {
		return election.Record{}, fmt.Errorf("%w: version %d: want %d", errFormat, s.Version, formatVersion)
	}
	if s.Epoch == 0 || s.LeaseID == "" {
		return election.Record{}, fmt.Errorf("%w: epoch or lease ID is missing", errFormat)
	}
	return election.Record{Epoch: s.Epoch, Holder: s.Holder, LeaseID: s.LeaseID, Held: s.Held}, nil
}
