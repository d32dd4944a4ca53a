package kmeans

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
)

// Params contains the parameters of the job kmeans.
type Params struct {
	dataset.Input `last:"on-error block"`

	K         int     `json:"k" min:"1" max:"10000" help:"the number of clusters"`
	Columns   string  `json:"columns" help:"the columns of numbers to use, separated by commas; empty: all"`
	Seed      uint64  `json:"seed" help:"chooses the sample and the first centres"`
	Rounds    uint64  `json:"rounds" min:"1" max:"100000" help:"the largest number of rounds with new centres"`
	Tolerance float64 `json:"tolerance" min:"0" max:"1" help:"ends the job when a round lowers the inertia by at most this share; 0: when no centre moves"`
	Output    string  `json:"output" help:"the folder for the rows with their clusters, named like the objects of input; empty: none"`
	Keep      string  `json:"keep" help:"with output: other columns to copy to it as text, such as an ID, separated by commas"`

	OutputFormat string `json:"output-format" oneof:"csv ndjson parquet" help:"the format of the objects of the output"`
}

func defaults() Params {
	return Params{Input: dataset.Defaults(), K: 8, Rounds: 100, Tolerance: 1e-6, OutputFormat: string(output.CSV)}
}

// Validate implements jobs.Validator.
func (p *Params) Validate() error {
	if math.IsNaN(p.Tolerance) {
		return errors.New("parameter tolerance: got NaN, takes 0 to 1")
	}
	columns := names(p.Columns)
	if err := different("columns", columns); err != nil {
		return err
	}
	keep := names(p.Keep)
	if err := different("keep", keep); err != nil {
		return err
	}
	switch {
	case len(keep) > 0 && p.Output == "":
		return errors.New("parameter keep: want the parameter output too, whose rows get the columns")
	case len(keep) > 0 && len(columns) == 0:
		return errors.New("parameter keep: want the parameter columns too, because by default all columns are used as numbers")
	case p.Format == "ndjson" && len(columns) == 0:
		return errors.New("parameter columns: want the members to use, because JSON objects have no common list of them")
	case p.Output == "":
		return nil
	}
	for _, name := range append(columns, keep...) {
		if name == clusterColumn || name == distanceColumn {
			return fmt.Errorf("the job adds a column %q to the output: give the column of the input another name with the parameter names", name)
		}
	}
	if err := output.CheckName(p.Output); err != nil {
		return fmt.Errorf("parameter output: %w", err)
	}
	return nil
}

// names returns the names in a list that is separated by commas.
func names(text string) (list []string) {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	return list
}

// different returns an error if a name is in a list twice.
func different(parameter string, list []string) error {
	seen := map[string]bool{}
	for _, name := range list {
		if seen[name] {
			return fmt.Errorf("parameter %s: the column %q is there twice", parameter, name)
		}
		seen[name] = true
	}
	return nil
}
