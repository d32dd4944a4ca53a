package plot

import (
	"math"
	"strconv"

	"github.com/dustin/go-humanize"
)

// Figure is one picture: panels below one another.
type Figure struct {
	Title  string
	Panels []Panel
}

// Panel is a field between two axes. What is listed first is drawn below the rest.
// Values beyond an axis' bounds are seen to be: lines leave the field there, with the
// largest value that Y has no place for written where that is, and bars that are cut
// end black and have their length written behind them, or the longest has, where they
// are low. Marks beyond X are left out.
type Panel struct {
	X, Y  Axis
	Lines []Line
	Rows  []Row  // bars from left to right, from the top down; they take the place of Y's ticks
	Marks []Mark // moments on X, which does not stretch for them

	Height float64 // of the field, in pixels; 0: a usual one
}

// Axis is how values become places.
type Axis struct {
	Label    string
	Log      bool    // values of 0 and below are left out
	Min, Max float64 // equal: what the values need
}

// Line joins points.
type Line struct {
	Name   string // in the legend; lines of one colour need one name
	Color  Color
	Faint  bool // one of many that matter together
	Dots   bool // the points themselves matter
	Points []Point
}

// Point is a value over another.
type Point struct{ X, Y float64 }

// Row is one bar, of parts that follow one another from 0 on.
type Row struct {
	Label string
	Parts []Part
}

// Part is a piece of a bar.
type Part struct {
	Name   string // in the legend
	Color  Color
	Length float64
}

// Mark is a moment with a name.
type Mark struct {
	At    float64
	Label string
	Color Color
}

// Color is one of a palette that people who do not tell red from green can use.
type Color int

// The palette. It is that of Okabe and Ito, without yellow, which is too faint for
// lines on white (https://jfly.uni-koeln.de/color/).
const (
	Blue Color = iota
	Orange
	Green
	Vermilion
	Purple
	Sky
	Grey
	black
	pale // of a grid
)

var palette = [...]string{
	Blue: "#0072b2", Orange: "#e69f00", Green: "#009e73", Vermilion: "#d55e00", Purple: "#cc79a7", Sky: "#56b4e9", Grey: "#888888",
	black: "#222222", pale: "#dddddd",
}

// scale places the values of an axis between two pixels.
type scale struct {
	axis     Axis
	from, to float64
}

// newScale fits the axis to values where it does not say its bounds.
func newScale(axis Axis, values []float64, from, to float64) scale {
	if axis.Min == axis.Max {
		axis.Min, axis.Max = math.Inf(1), math.Inf(-1)
		for _, v := range values {
			if axis.shows(v) {
				axis.Min, axis.Max = min(axis.Min, v), max(axis.Max, v)
			}
		}
		switch {
		case axis.Min > axis.Max && axis.Log:
			axis.Min, axis.Max = 1, 10
		case axis.Min > axis.Max:
			axis.Min, axis.Max = 0, 1
		case axis.Log:
			axis.Min, axis.Max = decade(math.Floor, axis.Min), decade(math.Ceil, axis.Max)
		default:
			axis.Min, axis.Max = min(0, axis.Min), max(0, axis.Max)
		}
		if axis.Min == axis.Max {
			if axis.Log {
				axis.Max *= 10
			} else {
				axis.Max++
			}
		}
	}
	return scale{axis, from, to}
}

func decade(round func(float64) float64, v float64) float64 {
	return math.Pow(10, round(math.Log10(v)))
}

// shows reports whether the axis has a place for the value.
func (a Axis) shows(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!a.Log || v > 0)
}

// place is the value's pixel. Values beyond the bounds are put on them.
func (s scale) place(v float64) float64 { return s.pixel(min(1, max(0, s.share(v)))) }

// share is how far along the axis a value is; what is beyond it is below 0 or above 1.
func (s scale) share(v float64) float64 {
	if s.axis.Log {
		return math.Log(v/s.axis.Min) / math.Log(s.axis.Max/s.axis.Min)
	}
	return (v - s.axis.Min) / (s.axis.Max - s.axis.Min)
}

func (s scale) pixel(share float64) float64 { return s.from + share*(s.to-s.from) }

// ticks are the values that are written beside the axis, about so many at most.
func (s scale) ticks(most int) []float64 {
	var list []float64
	if s.axis.Log {
		decades := math.Round(math.Log10(s.axis.Max / s.axis.Min))
		every := max(1, math.Ceil(decades/float64(most)))
		first := math.Ceil(math.Log10(s.axis.Min) - 1e-9)
		for e := first; math.Pow(10, e) <= s.axis.Max*(1+1e-9); e += every {
			list = append(list, math.Pow(10, e))
		}
		return list
	}
	step := roundStep((s.axis.Max - s.axis.Min) / float64(most))
	for i := math.Ceil(s.axis.Min/step - 1e-9); i*step <= s.axis.Max+step*1e-9; i++ {
		list = append(list, i*step+0) // no -0
	}
	return list
}

// roundStep is the next of 1, 2 and 5 times a power of ten.
func roundStep(least float64) float64 {
	base := decade(math.Floor, least)
	for _, factor := range []float64{1, 2, 5} {
		if factor*base >= least*(1-1e-9) {
			return factor * base
		}
	}
	return 10 * base
}

// roughly is a value with three digits.
func roughly(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := decade(math.Floor, math.Abs(v)) / 100
	return math.Round(v/unit) * unit
}

// number writes a tick's value with four digits at most.
func number(v float64) string {
	if math.Abs(v) < 1000 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	value, prefix := humanize.ComputeSI(v)
	return strconv.FormatFloat(value, 'g', 4, 64) + prefix
}
