package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

func TestTermAsJSON(t *testing.T) {
	none := time.Duration(0)
	term := store.TermRecord{
		Epoch: 3, Worker: "w", Cause: "died", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Detect: 1500 * time.Microsecond, Elect: time.Second, FirstAssignment: &none,
	}
	got, err := json.Marshal(term)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"epoch":3,"worker":"w","cause":"died","at":"2026-01-02T03:04:05Z","detect_ms":1.5,"elect_ms":1000,"fence_ms":0,"resume_ms":0,"first_assignment_ms":0,"first_result_ms":null}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
