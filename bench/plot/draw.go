package plot

import "slices"

// canvas is what figures are drawn on. Pixels count from the upper left corner.
type canvas interface {
	line(points []Point, c Color, width float64)
	dot(at Point, c Color, radius float64)
	rect(lo, hi Point, c Color)
	// text is put beside at, which is on its base line.
	text(at Point, side side, c Color, size float64, s string)
}

// side says which part of a text is at its place.
type side int

const (
	begin side = iota
	middle
	end
)

// All in pixels.
const (
	width       = 820
	leftEdge    = 76
	rightEdge   = 24
	titleHeight = 34
	headHeight  = 26 // of a panel: its Y label and legend
	footHeight  = 44 // of a panel: the ticks and label of X
	fieldHeight = 230
	rowHeight   = 14
	small       = 11 // of text
	large       = 14
	perRune     = 0.56 // of a text's size, about
)

func (p Panel) fieldHeight() float64 {
	switch {
	case p.Height > 0:
		return p.Height
	case len(p.Rows) > 0:
		return float64(len(p.Rows)) * rowHeight
	}
	return fieldHeight
}

// height is that of the whole figure.
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
	p.drawMarks(c, x, top, bottom)
	c.line([]Point{{leftEdge, top}, {leftEdge, bottom}, {width - rightEdge, bottom}}, black, 1)
}

func (p Panel) drawRows(c canvas, x scale, top float64) {
	high := p.fieldHeight() / max(1, float64(len(p.Rows)))
	gap := min(2, high/6)
	for i, r := range p.Rows {
		upper, lower := top+high*float64(i)+gap, top+high*float64(i+1)-gap
		if high >= small {
			c.text(Point{leftEdge - 7, (upper+lower)/2 + 4}, end, black, small, r.Label)
		}
		at := 0.0
		for _, part := range r.Parts {
			c.rect(Point{x.place(at), upper}, Point{x.place(at + part.Length), lower}, part.Color)
			at += part.Length
		}
	}
}

func (l Line) draw(c canvas, x, y scale) {
	thick := 2.0
	if l.Faint {
		thick = 0.5
	}
	var points []Point
	for _, p := range l.Points {
		if x.axis.shows(p.X) && y.axis.shows(p.Y) {
			points = append(points, Point{x.place(p.X), y.place(p.Y)})
		}
	}
	c.line(points, l.Color, thick)
	if l.Dots {
		for _, p := range points {
			c.dot(p, l.Color, 3)
		}
	}
}

// drawMarks writes labels one above the other, each behind its line, or before it
// where it would cross that of another mark.
func (p Panel) drawMarks(c canvas, x scale, top, bottom float64) {
	const gap = 5
	for i, m := range p.Marks {
		at := x.place(m.At)
		c.line([]Point{{at, top}, {at, bottom}}, m.Color, 1.2)
		room := gap + textWidth(m.Label)
		crosses := slices.ContainsFunc(p.Marks, func(o Mark) bool { return o.At > m.At && x.place(o.At) < at+room })
		label, side := Point{at + gap, bottom - 8 - 14*float64(i)}, begin
		if crosses && at-room > leftEdge {
			label.X, side = at-gap, end
		}
		c.text(label, side, m.Color, small, m.Label)
	}
}

// drawLegend writes the names so that the last one ends at the right edge, about.
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

// textWidth is that of a small text, about.
func textWidth(s string) float64 { return perRune * small * float64(len([]rune(s))) }

// legend lists each name once, in order.
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

// values are all that the axes must have a place for.
func (p Panel) values() (xs, ys []float64) {
	for _, l := range p.Lines {
		for _, at := range l.Points {
			xs, ys = append(xs, at.X), append(ys, at.Y)
		}
	}
	for _, r := range p.Rows {
		length := 0.0
		for _, part := range r.Parts {
			length += part.Length
		}
		xs = append(xs, length)
	}
	for _, m := range p.Marks {
		xs = append(xs, m.At)
	}
	return xs, ys
}
