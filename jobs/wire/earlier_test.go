package wire

import (
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// These are the messages of programs without reuse, as far as reuse has added fields.
type (
	earlierOutput struct {
		Function   Function `cbor:"1,keyasint"`
		Partitions uint64   `cbor:"2,keyasint,omitempty"`
		Data       []byte   `cbor:"3,keyasint,omitempty"`
	}
	earlierOpening struct {
		Job        string      `cbor:"1,keyasint"`
		Params     jobs.Params `cbor:"3,keyasint"`
		Partitions uint64      `cbor:"5,keyasint"`
	}
	earlierCall struct {
		Function Function  `cbor:"1,keyasint"`
		Operands []Partial `cbor:"3,keyasint,omitempty"`
	}
)

// TestEarlierProgramsIgnoreReuse checks that programs without reuse read the messages of programs with it, and that
// their messages mean that nothing is reused and kept.
func TestEarlierProgramsIgnoreReuse(t *testing.T) {
	decode := func(from, to any) {
		t.Helper()
		if err := format.Decode(format.Encode(from), to); err != nil {
			t.Error(err)
		}
	}
	var output earlierOutput
	if decode(Output{Function: Plan, Partitions: 9, Data: []byte("data"), Found: "a blob"}, &output); output.Partitions != 9 || string(output.Data) != "data" {
		t.Errorf("read %+v", output)
	}
	var opening earlierOpening
	if decode(Opening{Job: "j", Params: jobs.Params("{}"), Partitions: 9, Keep: 1 << 30}, &opening); opening.Job != "j" || opening.Partitions != 9 {
		t.Errorf("read %+v", opening)
	}
	var call earlierCall
	if decode(Call{Function: Finish, Operands: make([]Partial, 1), Key: make([]byte, 32), Work: time.Minute}, &call); call.Function != Finish || len(call.Operands) != 1 {
		t.Errorf("read %+v", call)
	}
	var planned Output
	if decode(output, &planned); planned.Found != "" || planned.Partitions != 9 {
		t.Errorf("read %+v", planned)
	}
	var opened Opening
	if decode(opening, &opened); opened.Keep != 0 || opened.Job != "j" {
		t.Errorf("read %+v", opened)
	}
	var made Call
	if decode(call, &made); made.Key != nil || made.Work != 0 || made.Function != Finish {
		t.Errorf("read %+v", made)
	}
}
