package bloblease

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/election"
)

// The metadata's names. Values are text.
const (
	epochName  = "epoch"
	holderName = "holder"
	leaseName  = "leaseid"
)

// errFormat: the metadata is something else than a record this program knows.
var errFormat = errors.New("the metadata of the lease's blob is not a record of who leads")

func encode(r election.Record) map[string]*string {
	epoch := strconv.FormatUint(r.Epoch, 10)
	return map[string]*string{epochName: &epoch, holderName: &r.Holder, leaseName: &r.LeaseID}
}

// decode returns the record but for Held. No metadata is the zero Record. HTTP
// does not keep the case of names.
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
