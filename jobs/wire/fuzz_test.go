package wire

import (
	"errors"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

func FuzzReport(f *testing.F)       { fuzz[Report](f) }
func FuzzReceipt(f *testing.F)      { fuzz[Receipt](f) }
func FuzzBeacon(f *testing.F)       { fuzz[Beacon](f) }
func FuzzSuspicion(f *testing.F)    { fuzz[Suspicion](f) }
func FuzzPing(f *testing.F)         { fuzz[Ping](f) }
func FuzzPong(f *testing.F)         { fuzz[Pong](f) }
func FuzzNudge(f *testing.F)        { fuzz[Nudge](f) }
func FuzzProbe(f *testing.F)        { fuzz[Probe](f) }
func FuzzProbeAnswer(f *testing.F)  { fuzz[ProbeAnswer](f) }
func FuzzOffer(f *testing.F)        { fuzz[Offer](f) }
func FuzzLeaderInfo(f *testing.F)   { fuzz[LeaderInfo](f) }
func FuzzWorkerQuery(f *testing.F)  { fuzz[WorkerQuery](f) }
func FuzzWorkers(f *testing.F)      { fuzz[Workers](f) }
func FuzzJobQuery(f *testing.F)     { fuzz[JobQuery](f) }
func FuzzJobs(f *testing.F)         { fuzz[Jobs](f) }
func FuzzCancel(f *testing.F)       { fuzz[Cancel](f) }
func FuzzDone(f *testing.F)         { fuzz[Done](f) }
func FuzzAuditRequest(f *testing.F) { fuzz[AuditRequest](f) }
func FuzzAuditAnswer(f *testing.F)  { fuzz[AuditAnswer](f) }

// fuzz checks that a message that was decoded from arbitrary bytes can be encoded and decoded
// again.
func fuzz[M Message](f *testing.F) {
	recode := func(data []byte) ([]byte, error) {
		m, err := Decode[M](data)
		if err != nil {
			return nil, err
		}
		again := Encode(m)
		if len(again) > MaxMessage { // encoding adds fields that the input omitted
			return nil, ErrMalformed
		}
		return again, nil
	}
	fuzztest.Recode(f, recode, []error{ErrMalformed, ErrUnknownVersion}, sampleOf[M](f), []byte{formatVersion, 0xa0})
}

// sampleOf returns the encoded sample of a message, in which every field is set.
func sampleOf[M Message](tb testing.TB) []byte {
	for _, k := range kinds {
		if _, sample, _ := k.value(k.sample); isA[M](sample) {
			return k.sample
		}
	}
	tb.Fatal("there is no sample of this message")
	return nil
}

func isA[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

// FuzzValidate looks for reports, receipts and audits that make Validate panic.
func FuzzValidate(f *testing.F) {
	f.Add(Encode(fullReport))
	f.Add(Encode(fullReceipt))
	f.Add(sampleOf[AuditRequest](f))
	f.Add(sampleOf[AuditAnswer](f))
	f.Add([]byte{formatVersion, 0xa0})
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := Decode[Report](data); err == nil {
			judge(t, corpus, r.Validate())
		}
		if r, err := Decode[Receipt](data); err == nil {
			judge(t, corpus, r.Validate())
		}
		if r, err := Decode[AuditRequest](data); err == nil {
			judge(t, corpus, r.Validate())
		}
		if a, err := Decode[AuditAnswer](data); err == nil {
			judge(t, corpus, a.Validate(len(a.Sums)))
		}
	})
}

func judge(t *testing.T, corpus *fuzztest.Corpus, err error) {
	t.Helper()
	switch {
	case err == nil:
		corpus.Taken()
	case errors.Is(err, ErrMalformed):
		corpus.Refused()
	default:
		t.Fatalf("an error of no kind: %v", err)
	}
}
