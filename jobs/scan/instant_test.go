package scan

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	library "github.com/parquet-go/parquet-go"
)

// TestInstants compares times of which only some have a fraction, and texts that are no times.
func TestInstants(t *testing.T) {
	name := write(t, "times.csv", "ts\n2024-01-02T10:00:00Z\n2024-01-02T10:00:00.5Z\n2024-01-02T10:00:00.25Z\n2024-01-02T09:59:59.999Z\n")
	for query, want := range map[string]string{
		"aggregate=min(ts),max(ts)":                                                                 `[["2024-01-02T09:59:59.999Z","2024-01-02T10:00:00.5Z"]]`,
		"columns=ts;order=-ts":                                                                      `[["2024-01-02T10:00:00.5Z"],["2024-01-02T10:00:00.25Z"],["2024-01-02T10:00:00Z"],["2024-01-02T09:59:59.999Z"]]`,
		"by=ts;aggregate=count;order=ts;limit=2":                                                    `[["2024-01-02T09:59:59.999Z",1],["2024-01-02T10:00:00Z",1]]`,
		"aggregate=count;where=ts > '2024-01-02 10:00:00'":                                          `[[2]]`,
		"aggregate=count;where=ts >= '2024-01-02T12:00:00+02:00'":                                   `[[3]]`,
		"aggregate=count;where=ts == '2024-01-02 10:00:00.500'":                                     `[[1]]`,
		"aggregate=count;where=ts >= '2024-01-02' and ts < '2024-01-03'":                            `[[4]]`,
		"aggregate=count;where=ts in ['2024-01-02 10:00:00', '2024-01-02T12:00:00.250+02:00', 'a']": `[[2]]`,
		"aggregate=count;where=ts != 'a' and not (ts < '2024-01-02 10:00Z')":                        `[[4]]`,
	} {
		got, err := scan(t, append(strings.Split(query, ";"), "input="+name)...)
		if err != nil || !strings.Contains(got, `"rows":`+want) {
			t.Errorf("%s: got %s, %v, want %s", query, got, err, want)
		}
	}
	for _, text := range []string{"2024-01-02 10:00:00Z", "2024-01-02T10:00:00", "2024-01-02T10:00:00xZ", "2024-01-02T10:00:0.0Z", "T", "", "10:00", "10:00:0x", "10:00:00,5"} {
		if key, ok := instant([]byte(text)); ok {
			t.Errorf("%q: got %v, want no instant", text, key)
		}
	}
}

// TestTimesOfDay compares times of day, whose fractions may end in zeros.
func TestTimesOfDay(t *testing.T) {
	name := write(t, "times.csv", "t\n10:00:00\n10:00:00.5\n10:00:00.250\n09:59:59.999\n")
	for query, want := range map[string]string{
		"aggregate=min(t),max(t)":                             `[["09:59:59.999","10:00:00.5"]]`,
		"columns=t;order=-t":                                  `[["10:00:00.5"],["10:00:00.250"],["10:00:00"],["09:59:59.999"]]`,
		"aggregate=count;where=t in ['10:00', '10:00:00.25']": `[[2]]`,
		"aggregate=count;where=t >= '10:00:00.250000'":        `[[2]]`,
		"aggregate=count;where=t == '10:00:00.500'":           `[[1]]`,
	} {
		got, err := scan(t, append(strings.Split(query, ";"), "input="+name)...)
		if err != nil || !strings.Contains(got, `"rows":`+want) {
			t.Errorf("%s: got %s, %v, want %s", query, got, err, want)
		}
	}
}

// TestTypesOfTimes compares columns of a Parquet object that have types of times with constants.
func TestTypesOfTimes(t *testing.T) {
	type row struct {
		At    time.Time `parquet:"at,timestamp(microsecond)"`
		Day   int32     `parquet:"day,date"`
		Clock int32     `parquet:"clock,time(millisecond)"`
		Text  string    `parquet:"text"`
	}
	at := time.Date(2024, 1, 2, 10, 0, 0, 500_000_000, time.UTC)
	var out bytes.Buffer
	if err := library.Write(&out, []row{{at, 19724, 36_000_500, "2024-01-02T10:00:00Z"}}); err != nil {
		t.Fatal(err)
	}
	name := write(t, "times.parquet", out.String())
	for where, want := range map[string]string{
		"at > '2024-01-02 10:00:00'":         `[[1]]`,
		"at in ['2024-01-02 10:00:00.50']":   `[[1]]`,
		"at > text":                          `[[1]]`,
		"day == '2024-01-02T00:00:00Z'":      `[[1]]`,
		"day < '2024-01-02 10:00:00'":        `[[1]]`,
		"day in ['2024-01-02']":              `[[1]]`,
		"clock in ['10:00:00.500']":          `[[1]]`,
		"clock > '10:00'":                    `[[1]]`,
		"text > '02.01.2024'":                `[[1]]`,
		"at > '02.01.2024'":                  `plan job scan: parameter where: column "at" is a time, and "02.01.2024" is not: want a text such as '2026-11-22T21:04:00Z'`,
		"at in ['2024-01-02', '02.01.2024']": `plan job scan: parameter where: column "at" is a time, and "02.01.2024" is not`,
		"day == '2.1.2024'":                  `want a text such as '2026-11-22'`,
		"clock > '2024-01-02'":               `want a text such as '21:04:00'`,
		"not (text == 'a' or day < 'x')":     `plan job scan: parameter where: column "day" is a time, and "x" is not`,
		"at < '10:00:00'":                    `want a text such as '2026-11-22T21:04:00Z'`,
	} {
		got, err := scan(t, "input="+name, "aggregate=count", "where="+where)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", where, got, want)
		}
	}
}

// TestTimesOfLaterObjects compares a column that has a type of times only in the second object.
func TestTimesOfLaterObjects(t *testing.T) {
	var texts, times bytes.Buffer
	if err := library.Write(&texts, []struct {
		At string `parquet:"at"`
	}{{"x"}}); err != nil {
		t.Fatal(err)
	}
	if err := library.Write(&times, []struct {
		At time.Time `parquet:"at,timestamp(microsecond)"`
	}{{time.Date(2024, 1, 2, 10, 0, 0, 0, time.UTC)}}); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range map[string][]byte{"a.parquet": texts.Bytes(), "b.parquet": times.Bytes()} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, err := scan(t, "input="+folder+"/", "aggregate=count", "where=at > 'w'")
	if want := `column "at" is a time, and "w" is not: want a text such as '2024-01-02T10:00:00Z'`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestTwoColumns compares two columns with each other.
func TestTwoColumns(t *testing.T) {
	for fields, want := range map[string]string{
		"9,10":                      "< <= !=",
		"1,1.0":                     "== <= >=",
		"a,b":                       "< <= !=",
		"10x,9x":                    "< <= !=",
		"-Inf,1":                    "< <= !=",
		"NaN,NaN":                   "!=",
		",x":                        "< <= !=",
		",1":                        "!=",
		"0.1,0.1000000000000000001": "< <= !=",
		"2024-01-02T10:00:00Z,2024-01-02T10:00:00.5Z": "< <= !=",
	} {
		name := write(t, "two.csv", "a,b\n"+fields+"\n")
		var got []string
		for _, operator := range []string{"<", "==", "<=", ">", ">=", "!="} {
			result, err := scan(t, "input="+name, "aggregate=count", "where=a "+operator+" b")
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(result, `"rows":[[1]]`) {
				got = append(got, operator)
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: got %s, want %s", fields, got, want)
		}
	}
	name := write(t, "two.csv", "a,b\n1,x\n")
	for where, want := range map[string]string{
		"b > a":     `b is "x" and a is "1": want two numbers or two texts, such as string(b) > string(a)`,
		"b > a + 1": "cannot compute text > number",
	} {
		if _, err := scan(t, "input="+name, "aggregate=count", "where="+where); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", where, err, want)
		}
	}
}

// TestOrderOfTextsIsTotal checks that no three texts, of which some are instants, are in a circle.
func TestOrderOfTextsIsTotal(t *testing.T) {
	texts := []string{
		"", "2026-11-22", "2026-11-22T00:00:00Z", "2026-11-22T09:00:00", "2026-11-22T09:00:00Z", "2026-11-22T09:00:00.0Z", "2026-11-22T09:00:00.5Z",
		"2026-11-22T09:00:00.50Z", "2026-11-22T09:00:00.7+02:00", "09:00:00", "09:00:00.", "09:00:00.5", "09:00:00.50", "09:00:00.5Z", "09:00:00 ", "a",
	}
	for _, a := range texts {
		for _, b := range texts {
			if x, y := compareTexts([]byte(a), []byte(b)), compareTexts([]byte(b), []byte(a)); x != -y || (x == 0) != (a == b) {
				t.Errorf("%q and %q: got %d and %d", a, b, x, y)
			}
			for _, c := range texts {
				if compareTexts([]byte(a), []byte(b)) < 0 && compareTexts([]byte(b), []byte(c)) < 0 && compareTexts([]byte(a), []byte(c)) >= 0 {
					t.Errorf("%q < %q < %q, but the first is not less than the last", a, b, c)
				}
			}
		}
	}
}
