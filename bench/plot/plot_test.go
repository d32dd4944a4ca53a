package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// figure is a test figure that contains every kind of shape.
var figure = Figure{
	Title: "Sheep & goats <counted>",
	Panels: []Panel{
		{
			X: Axis{Label: "seconds"}, Y: Axis{Label: "share", Min: 0, Max: 1.6},
			Lines: []Line{
				{Name: "each", Color: Sky, Faint: true, Points: []Point{{-1, 0.5}, {0, 1.8}, {1, math.NaN()}, {2, 1}}},
				{Name: "each", Color: Sky, Faint: true, Points: []Point{{-1, 0.7}, {2, 0.9}}},
				{Name: "median", Color: Blue, Points: []Point{{-1, 0.6}, {0, 1}, {2, 0.95}}},
			},
			Marks: []Mark{{0.2, "back", Green}, {0, "the leader is hit", Vermilion}, {1.9, "late", Purple}, {3, "never", Grey}},
		},
		{
			X: Axis{Label: "milliseconds", Max: 100}, Y: Axis{Label: "each time"},
			Rows: []Row{
				{"1", []Part{{"noticed", Grey, 40}, {"back", Green, 25}}},
				{"2", []Part{{"noticed", Grey, 30}, {"back", Green, 90}}},
			},
		},
		{
			X: Axis{Label: "workers", Log: true}, Y: Axis{Label: "bytes", Log: true}, Height: 120,
			Lines: []Line{{Color: Orange, Dots: true, Points: []Point{{1, 2_000}, {10, 0}, {2_000, 3_000_000}}}},
		},
	},
}

func TestGolden(t *testing.T) {
	var got bytes.Buffer
	if err := WriteSVG(&got, figure); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("testdata", "figure.svg")
	if *update {
		if err := os.WriteFile(name, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s differs: look at it, and run the test with -update if it is right", name)
	}
}

func TestSVGIsWellFormed(t *testing.T) {
	for _, f := range []Figure{figure, {}, {Panels: []Panel{{}}}} {
		var drawn bytes.Buffer
		if err := WriteSVG(&drawn, f); err != nil {
			t.Fatal(err)
		}
		for dec := xml.NewDecoder(&drawn); ; {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis   Axis
		values []float64
		want   []float64
	}{
		{Axis{}, []float64{3, 9.7}, []float64{0, 2, 4, 6, 8}},
		{Axis{}, []float64{-1, 2}, []float64{-1, -0.5, 0, 0.5, 1, 1.5, 2}},
		{Axis{}, nil, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{Axis{Min: 0.5, Max: 1.1}, nil, []float64{0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1}},
		{Axis{Log: true}, []float64{7, 900, 0}, []float64{1, 10, 100, 1000}},
		{Axis{Log: true}, []float64{1e3, 1e9}, []float64{1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}},
		{Axis{Log: true}, []float64{1, 1e9}, []float64{1, 1e2, 1e4, 1e6, 1e8}},
		{Axis{Log: true}, nil, []float64{1, 10}},
		{Axis{Log: true}, []float64{10}, []float64{10, 100}},
	} {
		got := newScale(c.axis, c.values, 0, 100).ticks(6)
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9*max(1, math.Abs(b)) }
		if !slices.EqualFunc(got, c.want, near) {
			t.Errorf("%+v of %v: got %v, want %v", c.axis, c.values, got, c.want)
		}
	}
}

func TestMarksStretchNoAxis(t *testing.T) {
	p := Panel{Lines: []Line{{Points: []Point{{1, 1}, {2, 1}}}}, Marks: []Mark{{At: 100}}}
	if xs, _ := p.values(); slices.Contains(xs, 100) {
		t.Errorf("the X axis has a place for %v, want only the line's", xs)
	}
}

// strokes is a canvas that records lines, and the bounding boxes of texts.
type strokes struct {
	lines [][]Point
	boxes [][2]Point // upper left and lower right corners of the texts
}

func (s *strokes) line(points []Point, _ Color, _ float64) { s.lines = append(s.lines, points) }
func (s *strokes) dot(Point, Color, float64)               {}
func (s *strokes) rect(Point, Point, Color)                {}
func (s *strokes) text(at Point, side side, _ Color, size float64, text string) {
	left := at.X - textWidth(text)*[...]float64{begin: 0, middle: 0.5, end: 1}[side]
	s.boxes = append(s.boxes, [2]Point{{left, at.Y - size}, {left + textWidth(text), at.Y}})
}

func TestLabelsOfMarksAreReadable(t *testing.T) {
	for _, moments := range [][]float64{
		{0, 0.05, 0.062, 0.065, 0.119, 0.179, 0.179}, {0, 2.18, 2.2, 2.21, 3.2, 3.25}, {0, 4.7}, {0, 0.1, 4.99}, {4.9}, {0, 0.001, 0.002, 0.003},
	} {
		var p Panel
		for _, at := range moments {
			p.Marks = append(p.Marks, Mark{At: at, Label: "a moment's label"})
		}
		var drawn strokes
		p.drawMarks(&drawn, newScale(Axis{Min: -0.2, Max: 5}, nil, leftEdge, width-rightEdge), 0, fieldHeight)
		for i, box := range drawn.boxes {
			if box[0].X < leftEdge || box[1].X > width {
				t.Errorf("%v: label %d is from %v to %v, out of the picture", moments, i, box[0].X, box[1].X)
			}
			for j, line := range drawn.lines {
				if x := line[0].X; x > box[0].X && x < box[1].X && line[1].Y > box[0].Y {
					t.Errorf("%v: line %d crosses label %d", moments, j, i)
				}
			}
			for j, other := range drawn.boxes[:i] {
				if other[0].X < box[1].X && box[0].X < other[1].X && other[0].Y < box[1].Y && box[0].Y < other[1].Y {
					t.Errorf("%v: label %d is on label %d", moments, i, j)
				}
			}
		}
	}
}

func TestManyRowsAreLow(t *testing.T) {
	for rows, want := range map[int]float64{1: rowHeight, 10: 10 * rowHeight, 50: rowsHeight, 1000: rowsHeight} {
		if got := (Panel{Rows: make([]Row, rows)}).fieldHeight(); got != want {
			t.Errorf("%d rows: got a field of %v, want %v", rows, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		name           string
		a, b, from, to Point
		some           bool
	}{
		{"within", Point{0.1, 0.2}, Point{0.9, 1}, Point{0.1, 0.2}, Point{0.9, 1}, true},
		{"out at the top", Point{0.5, 0.5}, Point{0.5, 1.5}, Point{0.5, 0.5}, Point{0.5, 1}, true},
		{"in from the left", Point{-1, 0.5}, Point{1, 0.5}, Point{0, 0.5}, Point{1, 0.5}, true},
		{"through", Point{-1, -1}, Point{2, 2}, Point{0, 0}, Point{1, 1}, true},
		{"above", Point{0, 1.5}, Point{1, 1.5}, Point{}, Point{}, false},
		{"past a corner", Point{-0.5, 0.9}, Point{0.5, 1.9}, Point{}, Point{}, false},
	} {
		from, to, some := clip(c.a, c.b)
		near := func(a, b Point) bool { return math.Hypot(a.X-b.X, a.Y-b.Y) < 1e-9 }
		if some != c.some || some && (!near(from, c.from) || !near(to, c.to)) {
			t.Errorf("%s: got %v to %v, %t", c.name, from, to, some)
		}
	}
}

func TestPlace(t *testing.T) {
	linear := newScale(Axis{Min: 0, Max: 10}, nil, 100, 0)
	logarithmic := newScale(Axis{Log: true, Min: 1, Max: 100}, nil, 0, 100)
	for _, c := range []struct {
		scale   scale
		v, want float64
	}{
		{linear, 0, 100},
		{linear, 5, 50},
		{linear, 12, 0},
		{linear, -1, 100},
		{logarithmic, 10, 50},
		{logarithmic, 1000, 100},
	} {
		if got := c.scale.place(c.v); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v on %+v: got %v, want %v", c.v, c.scale.axis, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.25: "0.25", 12: "12", 999: "999", 1000: "1k", 2500: "2.5k", 1e6: "1M", 1e9: "1G", 1e12: "1T", -1500: "-1.5k",
	} {
		if got := number(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}
