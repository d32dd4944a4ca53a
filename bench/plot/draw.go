package plot

import (
	"cmp"
	"slices"
)

// canvas draws shapes. Coordinates are pixels from the upper left corner.
type canvas interface {
	line(points []Point, c Color, width float64)
	dot(at Point, c Color, radius float64)
	rect(lo, hi Point, c Color)
	// text writes s at the point at, which lies on the base line of the text.
	text(at Point, side side, c Color, size float64, s string)
}

// side is the alignment of a text: the part of the text that is placed at its point.
type side int

const (
	begin side = iota
	middle
	end
)

const (
	width       = 820
	leftEdge    = 76
	rightEdge   = 24
	titleHeight = 34
	headHeight  = 26 // height in pixels above the plot area of a panel, for the label of Y and the legend
	footHeight  = 44 // height in pixels below the plot area of a panel, for the ticks and the label of X
	fieldHeight = 230
	rowHeight   = 14
	rowsHeight  = 240 // maximum height of all rows of a panel together
	tiny        = 8   // size in pixels of the smallest text
	small       = 11
	large       = 14
	labelHeight = 13   // height in pixels of each label of stacked marks
	perRune     = 0.56 // approximate width of a character as a share of the text size
)

func (p Panel) fieldHeight() float64 {
	switch {
	case p.Height > 0:
		return p.Height
	case len(p.Rows) > 0:
		return min(float64(len(p.Rows))*rowHeight, rowsHeight)
	}
	return fieldHeight
}

func (f Figure) height() float64 {
	h := float64(titleHeight)
	for _, p := range f.Panels {
		h += headHeight + p.fieldHeight() + footHeight
	}
	return h
}

func (f Figure) draw(c canvas) {
	c.text(Point{leftEdge, titleHeight - 12}, begin, black, large, f.Title)
	top := float64(titleHeight)
	for _, p := range f.Panels {
		top += headHeight
		p.draw(c, top)
		top += p.fieldHeight() + footHeight
	}
}

func (p Panel) draw(c canvas, top float64) {
	bottom := top + p.fieldHeight()
	xs, ys := p.values()
	x := newScale(p.X, xs, leftEdge, width-rightEdge)
	y := newScale(p.Y, ys, bottom, top)

	c.text(Point{leftEdge, top - 9}, begin, black, small, p.Y.Label)
	p.drawLegend(c, top-9)
	for _, v := range x.ticks(10) {
		at := x.place(v)
		c.line([]Point{{at, top}, {at, bottom}}, pale, 1)
		c.text(Point{at, bottom + 15}, middle, black, small, number(v))
	}
	c.text(Point{width - rightEdge, bottom + 31}, end, black, small, p.X.Label)
	if len(p.Rows) == 0 {
		for _, v := range y.ticks(6) {
			at := y.place(v)
			c.line([]Point{{leftEdge, at}, {width - rightEdge, at}}, pale, 1)
			c.text(Point{leftEdge - 7, at + 4}, end, black, small, number(v))
		}
	}
	p.drawRows(c, x, top)
	for _, l := range p.Lines {
		l.draw(c, x, y)
	}
	marks := top
	if p.drawHighest(c, x, y) {
		marks += labelHeight
	}
	p.drawMarks(c, x, marks, bottom)
	c.line([]Point{{leftEdge, top}, {leftEdge, bottom}, {width - rightEdge, bottom}}, black, 1)
}

func (p Panel) drawRows(c canvas, x scale, top float64) {
	const every = 10 // if rows are too low for a number beside each row, every tenth row has a number
	high := p.fieldHeight() / max(1, float64(len(p.Rows)))
	gap := min(2, high/6)
	longest := 0.0
	for _, r := range p.Rows {
		longest = max(longest, r.length())
	}
	for i, r := range p.Rows {
		upper, lower := top+high*float64(i)+gap, top+high*float64(i+1)-gap
		if high >= small || (i+1)%every == 0 {
			c.text(Point{leftEdge - 7, (upper+lower)/2 + 4}, end, black, small, r.Label)
		}
		at := 0.0
		for _, part := range r.Parts {
			c.rect(Point{x.place(at), upper}, Point{x.place(at + part.Length), lower}, part.Color)
			at += part.Length
		}
		if at > x.axis.Max { // the bar extends beyond the axis, so mark its end
			c.rect(Point{width - rightEdge - 3, upper}, Point{width - rightEdge, lower}, black)
			if high >= tiny || at == longest {
				c.text(Point{width - rightEdge + 2, (upper+lower)/2 + 3}, begin, black, tiny, number(roughly(at)))
			}
		}
	}
}

func (r Row) length() float64 {
	length := 0.0
	for _, part := range r.Parts {
		length += part.Length
	}
	return length
}

func (l Line) draw(c canvas, x, y scale) {
	thick := 2.0
	if l.Faint {
		thick = 0.5
	}
	place := func(share Point) Point { return Point{x.pixel(share.X), y.pixel(share.Y)} }
	var run []Point // points of a continuous line within the plot area
	var last *Point
	for _, p := range l.Points {
		if !x.axis.shows(p.X) || !y.axis.shows(p.Y) {
			continue
		}
		at := Point{x.share(p.X), y.share(p.Y)}
		if l.Dots && within(at) {
			c.dot(place(at), l.Color, 3)
		}
		if last != nil {
			if from, to, some := clip(*last, at); some {
				if from != *last || len(run) == 0 {
					c.line(run, l.Color, thick)
					run = []Point{place(from)}
				}
				run = append(run, place(to))
			}
		}
		last = &at
	}
	c.line(run, l.Color, thick)
}

func within(share Point) bool {
	return share.X >= 0 && share.X <= 1 && share.Y >= 0 && share.Y <= 1
}

// clip returns the part of a line that lies in the plot area, and reports whether any part of the
// line lies there. Coordinates are shares of the axes, 0 to 1 in the plot area. The algorithm is
// from Liang and Barsky, A New Concept and Method for Line Clipping, ACM Transactions on Graphics
// 3.1, 1984.
func clip(a, b Point) (from, to Point, some bool) {
	dx, dy := b.X-a.X, b.Y-a.Y
	first, last := 0.0, 1.0 // positions on the line, as shares of its length
	for _, side := range []struct{ speed, room float64 }{{-dx, a.X}, {dx, 1 - a.X}, {-dy, a.Y}, {dy, 1 - a.Y}} {
		switch when := side.room / side.speed; {
		case side.speed == 0 && side.room < 0:
			return a, b, false
		case side.speed < 0:
			first = max(first, when)
		case side.speed > 0:
			last = min(last, when)
		}
	}
	from, to = a, b
	if first > 0 {
		from = Point{a.X + first*dx, a.Y + first*dy}
	}
	if last < 1 {
		to = Point{a.X + last*dx, a.Y + last*dy}
	}
	return from, to, first <= last
}

// drawHighest writes the largest value that exceeds the axis at the top, and reports whether there is one.
func (p Panel) drawHighest(c canvas, x, y scale) bool {
	var highest Point
	some := false
	for _, l := range p.Lines {
		for _, at := range l.Points {
			beyond := x.axis.shows(at.X) && y.axis.shows(at.Y) && x.share(at.X) >= 0 && x.share(at.X) <= 1 && y.share(at.Y) > 1+1e-9
			if beyond && (!some || at.Y > highest.Y) {
				highest, some = at, true
			}
		}
	}
	if !some {
		return false
	}
	label := "up to " + number(roughly(highest.Y))
	at, side := Point{x.place(highest.X) + 5, y.pixel(1) + small}, begin
	if at.X+textWidth(label) > width-rightEdge {
		at.X, side = at.X-10, end
	}
	c.text(at, side, black, small, label)
	return true
}

// drawMarks draws each mark as a vertical line, with the label to the right of the line, or to the
// left if the label would exceed the figure. Labels that would overlap are stacked. Each line ends
// at its label, so that it does not cross the labels of other marks.
func (p Panel) drawMarks(c canvas, x scale, top, bottom float64) {
	const gap = 5
	marks := slices.DeleteFunc(slices.Clone(p.Marks), func(m Mark) bool {
		return !x.axis.shows(m.At) || x.share(m.At) < 0 || x.share(m.At) > 1
	})
	slices.SortStableFunc(marks, func(a, b Mark) int { return cmp.Compare(a.At, b.At) })
	type taken struct{ from, to, row float64 }
	var labels []taken
	for _, m := range marks {
		at, room := x.place(m.At), gap+textWidth(m.Label)
		label, from, side := at+gap, at, begin
		if at+room > width {
			label, from, side = at-gap, at-room, end
		}
		row := 0.0
		for _, l := range labels {
			if l.to >= from && l.from <= from+room {
				row = max(row, l.row+1)
			}
		}
		labels = append(labels, taken{from, from + room, row})
		base := bottom - 8 - labelHeight*row
		c.line([]Point{{at, top}, {at, base + 2}}, m.Color, 1.2)
		c.text(Point{label, base}, side, m.Color, small, m.Label)
	}
}

// drawLegend draws the legend in one row at the right edge.
func (p Panel) drawLegend(c canvas, base float64) {
	const swatch, gap, between = 12, 5, 14
	entries := p.legend()
	at := float64(width - rightEdge + between)
	for _, e := range entries {
		at -= swatch + gap + textWidth(e.Name) + between
	}
	for _, e := range entries {
		c.rect(Point{at, base - 8}, Point{at + swatch, base}, e.Color)
		c.text(Point{at + swatch + gap, base}, begin, black, small, e.Name)
		at += swatch + gap + textWidth(e.Name) + between
	}
}

// textWidth estimates the width of a small text.
func textWidth(s string) float64 { return perRune * small * float64(len([]rune(s))) }

// legend returns the names and colors of the lines and parts, in order and without duplicates.
func (p Panel) legend() []Part {
	var list []Part
	add := func(name string, color Color) {
		known := func(e Part) bool { return e.Name == name }
		if name != "" && !slices.ContainsFunc(list, known) {
			list = append(list, Part{Name: name, Color: color})
		}
	}
	for _, l := range p.Lines {
		add(l.Name, l.Color)
	}
	for _, r := range p.Rows {
		for _, part := range r.Parts {
			add(part.Name, part.Color)
		}
	}
	return list
}

func (p Panel) values() (xs, ys []float64) {
	for _, l := range p.Lines {
		for _, at := range l.Points {
			xs, ys = append(xs, at.X), append(ys, at.Y)
		}
	}
	for _, r := range p.Rows {
		xs = append(xs, r.length())
	}
	return xs, ys
}
