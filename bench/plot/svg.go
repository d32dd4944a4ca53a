package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
)

// WriteSVG draws the figure as an SVG file.
func WriteSVG(w io.Writer, f Figure) error {
	var s svg
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%g" viewBox="0 0 %d %g" font-family="Helvetica, Arial, sans-serif">`+"\n",
		width, f.height(), width, f.height())
	s.printf(`<rect width="100%%" height="100%%" fill="white"/>`)
	f.draw(&s)
	s.printf("</svg>")
	if _, err := w.Write(s.Bytes()); err != nil {
		return fmt.Errorf("write SVG: %w", err)
	}
	return nil
}

type svg struct{ bytes.Buffer }

var _ canvas = (*svg)(nil)

func (s *svg) printf(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

func (s *svg) line(points []Point, c Color, width float64) {
	if len(points) == 0 {
		return
	}
	s.WriteString(`<polyline points="`)
	for i, p := range points {
		if i > 0 {
			s.WriteByte(' ')
		}
		fmt.Fprintf(s, "%.1f,%.1f", p.X, p.Y)
	}
	s.printf(`" fill="none" stroke="%s" stroke-width="%g" stroke-linejoin="round"/>`, palette[c], width)
}

func (s *svg) dot(at Point, c Color, radius float64) {
	s.printf(`<circle cx="%.1f" cy="%.1f" r="%g" fill="%s"/>`, at.X, at.Y, radius, palette[c])
}

func (s *svg) rect(lo, hi Point, c Color) {
	s.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, lo.X, lo.Y, hi.X-lo.X, hi.Y-lo.Y, palette[c])
}

func (s *svg) text(at Point, side side, c Color, size float64, text string) {
	var escaped bytes.Buffer
	_ = xml.EscapeText(&escaped, []byte(text)) // writing to a buffer never fails
	anchor := [...]string{begin: "start", middle: "middle", end: "end"}[side]
	s.printf(`<text x="%.1f" y="%.1f" font-size="%g" text-anchor="%s" fill="%s">%s</text>`, at.X, at.Y, size, anchor, palette[c], escaped.Bytes())
}
