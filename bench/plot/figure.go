package plot

import (
	"math"
	"strconv"

	"github.com/dustin/go-humanize"
)

// Figure is a chart with panels one below the other.
type Figure struct {
	Title  string
	Panels []Panel
}

// Panel is a plot area between two axes. Later shapes are drawn on top of earlier ones. Lines with
// values beyond the bounds of an axis leave the plot area, and the largest value above the bound of
// Y is written at the top. A bar that exceeds the axis is cut, its end is black, and its length is
// written beside the bar. If bars are low, only the length of the longest bar is written. Marks
// beyond the bounds of X are not drawn.
type Panel struct {
	X, Y  Axis
	Lines []Line
	Rows  []Row  // horizontal bars from top to bottom; the labels of the rows replace the ticks of Y
	Marks []Mark // labelled positions on X, which do not extend the axis

	Height float64 // height of the plot area in pixels; 0 means the default
}

// Axis maps values to positions.
type Axis struct {
	Label    string
	Log      bool    // true for a logarithmic axis, on which values of 0 and less are not drawn
	Min, Max float64 // bounds of the axis; if Min equals Max, the bounds are derived from the values
}

// Line is a sequence of points that are joined by a line.
type Line struct {
	Name   string // name of the line in the legend; lines of the same color must have the same name
	Color  Color
	Faint  bool // true for a pale line, for example one of many similar lines
	Dots   bool // true if a dot is drawn at each point
	Points []Point
}

// Point is a pair of values.
type Point struct{ X, Y float64 }

// Row is one bar, which consists of parts. The first part begins at 0, and each further part begins
// at the end of the previous part.
type Row struct {
	Label string
	Parts []Part
}

// Part is a piece of a bar.
type Part struct {
	Name   string // name in the legend
	Color  Color
	Length float64
}

// Mark is a vertical line with a label.
type Mark struct {
	At    float64
	Label string
	Color Color
}

// Color is a color of a palette that is safe for color-blind readers.
type Color int

// The colors are the palette of Okabe and Ito (https://jfly.uni-koeln.de/color/) without yellow,
// which is too pale on white.
const (
	Blue Color = iota
	Orange
	Green
	Vermilion
	Purple
	Sky
	Grey
	black
	pale // pale is the color of grid lines
)

var palette = [...]string{
	Blue: "#0072b2", Orange: "#e69f00", Green: "#009e73", Vermilion: "#d55e00", Purple: "#cc79a7", Sky: "#56b4e9", Grey: "#888888",
	black: "#222222", pale: "#dddddd",
}

type scale struct {
	axis     Axis
	from, to float64
}

// newScale derives the bounds from the values if the axis sets no bounds.
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

func (a Axis) shows(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!a.Log || v > 0)
}

// place returns the position of a value in pixels. A value beyond a bound is at the bound.
func (s scale) place(v float64) float64 { return s.pixel(min(1, max(0, s.share(v)))) }

// share returns the position of a value on the axis, which is 0 to 1 between the bounds.
func (s scale) share(v float64) float64 {
	if s.axis.Log {
		return math.Log(v/s.axis.Min) / math.Log(s.axis.Max/s.axis.Min)
	}
	return (v - s.axis.Min) / (s.axis.Max - s.axis.Min)
}

func (s scale) pixel(share float64) float64 { return s.from + share*(s.to-s.from) }

// ticks returns about most values, or fewer, to write beside the axis.
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
		list = append(list, i*step+0) // adding 0 turns -0 into 0
	}
	return list
}

// roundStep rounds up to 1, 2 or 5 times a power of ten.
func roundStep(least float64) float64 {
	base := decade(math.Floor, least)
	for _, factor := range []float64{1, 2, 5} {
		if factor*base >= least*(1-1e-9) {
			return factor * base
		}
	}
	return 10 * base
}

// roughly rounds a value to three significant digits.
func roughly(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := decade(math.Floor, math.Abs(v)) / 100
	return math.Round(v/unit) * unit
}

// number formats a tick's value with at most four significant digits.
func number(v float64) string {
	if math.Abs(v) < 1000 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	value, prefix := humanize.ComputeSI(v)
	return strconv.FormatFloat(value, 'g', 4, 64) + prefix
}
