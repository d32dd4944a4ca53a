package scan

import (
	"cmp"
	"fmt"
)

var errManyGroups = fmt.Errorf("the result has more than %d rows: give the parameter limit, or output to write the rows to objects", maxResultGroups)

// refuse returns an error if a table already has more groups or rows than a result may have. Merges
// only add groups, and Finish drops none unless the query has a limit or the parameter having.
func refuse(p Params, t *table) error {
	if err := t.rows.err(); err != nil {
		return err
	}
	if p.Output != "" || p.Having != "" || p.Limit > 0 && p.Limit <= maxResultGroups {
		return nil
	}
	for _, r := range t.runs {
		if many, err := r.exceeds(maxResultGroups); err != nil || many {
			return cmp.Or(err, errManyGroups)
		}
	}
	return nil
}
