package cli

import (
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs"
)

// auditFlag is the value of --audit: the share of the partitions that are computed twice.
type auditFlag struct{ text string }

func (f *auditFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.text, "audit", "", "compute this share of the partitions twice, such as 1%, on two workers if possible, and fail the job if the results differ")
}

// share returns the share of audited partitions in millionths.
func (f auditFlag) share() (uint32, error) {
	if f.text == "" {
		return 0, nil
	}
	return parseShare("audit", f.text)
}

// parseShare returns the share of the partitions in the text of a flag, in millionths.
func parseShare(flag, text string) (uint32, error) {
	digits, found := strings.CutSuffix(text, "%")
	percent, err := strconv.ParseFloat(digits, 64)
	if !found || err != nil || !(percent > 0 && percent <= 100) {
		return 0, console.Usagef("--%s %q: want a share of the partitions from 0.0001%% to 100%%, such as 1%%", flag, text)
	}
	return uint32(max(1, math.Round(percent*jobs.MaxAudit/100))), nil
}
