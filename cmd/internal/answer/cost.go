package answer

import (
	"fmt"
	"io"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
)

// Price is the price of a slot for an hour, in any currency; 0 if it is not known.
type Price float64

// Of returns the price of some time of slots, or nil if the price is not known.
func (p Price) Of(slotSeconds float64) *float64 {
	if p == 0 {
		return nil
	}
	cost := float64(p) * slotSeconds / time.Hour.Seconds()
	return &cost
}

// CostRows prints for how long a job has occupied slots, and the price of this time if it is known. It prints nothing
// if no time was measured.
func CostRows(w io.Writer, slotSeconds, lostSeconds float64, p Price) {
	if slotSeconds == 0 {
		return
	}
	text := human.Duration(seconds(slotSeconds))
	if lostSeconds > 0 {
		text += fmt.Sprintf(", %s of it lost", human.Duration(seconds(lostSeconds)))
	}
	console.Row(w, "slot time", text)
	if cost := p.Of(slotSeconds); cost != nil {
		text := fmt.Sprintf("%.2f", *cost)
		if lostSeconds > 0 {
			text += fmt.Sprintf(", %.2f of it lost", *p.Of(lostSeconds))
		}
		console.Row(w, "cost", text)
	}
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
