package glm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// Params are the parameters of the job glm.
type Params struct {
	dataset.Input `last:"on-error block"`

	Family    string  `json:"family" oneof:"linear logistic poisson" help:"the distribution of the target: linear (normal, identity link), logistic (0 or 1, logit link), poisson (counts, log link)"`
	Target    string  `json:"target" required:"true" help:"the column that is explained"`
	Columns   string  `json:"columns" required:"true" help:"the columns that explain the target, separated by commas"`
	Intercept bool    `json:"intercept" help:"whether the model has a constant beside the columns"`
	Ridge     float64 `json:"ridge" min:"0" max:"1e100" help:"penalty: the fit minimises deviance + ridge·Σβ², without the intercept's β"`
	Rounds    uint64  `json:"rounds" min:"2" max:"10000" help:"largest number of passes over the rows"`
	Tolerance float64 `json:"tolerance" min:"1e-15" max:"1e-3" help:"the fit ends when the deviance d changes by less than tolerance·(|d|+0.1)"`
}

// maxColumns is the maximum number of predictors. X'WX has a number of sums that grows with the square of it.
const maxColumns = 256

// Validate implements jobs.Validator. The Validate of the embedded Input is called too.
func (p *Params) Validate() error {
	list := p.predictors()
	if len(list) > maxColumns {
		return fmt.Errorf("parameter columns: got %d names, takes at most %d", len(list), maxColumns)
	}
	for i, name := range list {
		switch {
		case name == "":
			return fmt.Errorf("parameter columns: got %q, takes names that are separated by commas", p.Columns)
		case name == p.Target:
			return fmt.Errorf("parameter columns: %q is the target, which cannot explain itself", name)
		case slices.Contains(list[:i], name):
			return fmt.Errorf("parameter columns: %q is there twice", name)
		}
	}
	return nil
}

// predictors returns the names of the columns that explain the target.
func (p Params) predictors() []string {
	list := strings.Split(p.Columns, ",")
	for i, name := range list {
		list[i] = strings.TrimSpace(name)
	}
	return list
}

// coefficients returns the number of coefficients.
func (p Params) coefficients() int {
	n := len(p.predictors())
	if p.Intercept {
		n++
	}
	return n
}
