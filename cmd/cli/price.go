package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
)

// priceFlag is the price of a slot for an hour, in any currency; 0 if it is not given.
type priceFlag answer.Price

func (p *priceFlag) register(cmd *cobra.Command) {
	cmd.Flags().Float64Var((*float64)(p), "price", 0, "price of a slot for an hour, such as 0.12: show what the time of slots has cost")
}

func (p *priceFlag) check() error {
	if !(*p >= 0 && *p < 1e9) { // NaN is refused too
		return console.Usagef("--price %v: want the price of a slot for an hour, such as 0.12", float64(*p))
	}
	return nil
}

// cost returns what a job's slots have cost, or nil if there is no price.
func (p priceFlag) cost(slotSeconds float64) *float64 { return answer.Price(p).Of(slotSeconds) }

// cell returns the cell of a table with what a job's slots have cost.
func (p priceFlag) cell(slotSeconds float64) string {
	if c := p.cost(slotSeconds); c != nil {
		return fmt.Sprintf("%.2f", *c)
	}
	return ""
}
