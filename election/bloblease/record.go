package bloblease

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/election"
)

// The record is stored in the blob's metadata under the following names.
const (
	epochName  = "epoch"
	holderName = "holder"
	leaseName  = "leaseid"
)

// errFormat is the error for metadata that is not a record, or not in a format that this program
// knows.
var errFormat = errors.New("the metadata of the lease's blob is not a lease record")

func encode(r election.Record) map[string]*string {
	epoch := strconv.FormatUint(r.Epoch, 10)
	return map[string]*string{epochName: &epoch, holderName: &r.Holder, leaseName: &r.LeaseID}
}

// decode returns the record in the metadata; the field Held is not set. For empty metadata decode
// returns the zero Record. Metadata names are compared without regard to case, because HTTP does
// not preserve the case of header names.
func decode(metadata map[string]*string) (election.Record, error) {
	var (
		r     election.Record
		epoch string
	)
	for name, value := range metadata {
		if value == nil {
			continue
		}
		switch strings.ToLower(name) {
		case epochName:
			epoch = *value
		case holderName:
			r.Holder = *value
		case leaseName:
			r.LeaseID = *value
		}
	}
	if epoch == "" && r == (election.Record{}) {
		return r, nil
	}
	var err error
	if r.Epoch, err = strconv.ParseUint(epoch, 10, 64); err != nil || r.Epoch == 0 || r.LeaseID == "" || r.Holder == "" {
		return election.Record{}, fmt.Errorf("%w: epoch %q, holder %q, lease ID %q", errFormat, epoch, r.Holder, r.LeaseID)
	}
	return r, nil
}
