package form

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestForms(t *testing.T) {
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{AppendFloat(nil, 0.1, 64), "0.1"},
		{AppendFloat(nil, float64(float32(0.1)), 32), "0.1"},
		{AppendFloat(nil, 1e21, 64), "1e+21"},
		{AppendFloat(nil, math.Inf(1), 64), "+Inf"},
		{AppendDate(nil, -1), "1969-12-31"},
		{AppendTime(nil, 1_500, time.Millisecond), "1970-01-01T00:00:01.5Z"},
		{AppendTime(nil, -1, time.Nanosecond), "1969-12-31T23:59:59.999999999Z"},
		{AppendTimeOfDay(nil, 86_399_999_999, time.Microsecond), "23:59:59.999999"},
		{AppendInterval(nil, []byte{14, 0, 0, 0, 3, 0, 0, 0, 250, 0, 0, 0}), "P14M3DT0.25S"},
		{AppendInterval(nil, make([]byte, 12)), "PT0S"},
		{AppendInterval(nil, []byte{1, 2}), "0102"},
		{AppendUUID(nil, []byte("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff")), "00112233-4455-6677-8899-aabbccddeeff"},
		{AppendUUID(nil, []byte{1}), "01"},
		{AppendString([]byte("x"), []byte("a\"\\\n\r\t\x01é<\xff")), `x"a\"\\\n\r\t\u0001é<` + "\ufffd" + `"`},
	} {
		if string(c.got) != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestSortMembers(t *testing.T) {
	b := []byte(`x"c":1"a":2"c":3"b":4`)
	members := []Member{{[]byte("c"), 1, 6}, {[]byte("a"), 6, 11}, {[]byte("c"), 11, 16}, {[]byte("b"), 16, 21}}
	if got, distinct := SortMembers(b, 1, members); string(got) != `x"a":2,"b":4,"c":3` || distinct {
		t.Errorf("got %s, distinct: %v", got, distinct)
	}
	if got, distinct := SortMembers([]byte("{"), 1, nil); string(got) != "{" || !distinct {
		t.Errorf("got %s, distinct: %v", got, distinct)
	}
}

// FuzzString compares strings with what encoding/json reads from them.
func FuzzString(f *testing.F) {
	f.Add("a\"\x00\u2028\\é")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		var got string
		if err := json.Unmarshal(AppendString(nil, []byte(text)), &got); err != nil || got != text {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	})
}
