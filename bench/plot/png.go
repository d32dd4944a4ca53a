package plot

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"strconv"
)

// fineness is how many pixels of a PNG make one of the figure, on each side.
const fineness = 2

// WritePNG draws the figure as a PNG file. Its letters are plain.
func WritePNG(w io.Writer, f Figure) error {
	img := image.NewRGBA(image.Rect(0, 0, width*fineness, int(f.height()*fineness)))
	draw.Draw(img, img.Bounds(), image.White, image.Point{}, draw.Src)
	f.draw(raster{img})
	if err := png.Encode(w, img); err != nil {
		return fmt.Errorf("write PNG: %w", err)
	}
	return nil
}

// raster is a canvas of pixels.
type raster struct{ *image.RGBA }

var _ canvas = raster{}

func (r raster) line(points []Point, c Color, width float64) {
	for i := range len(points) - 1 {
		r.segment(points[i], points[i+1], c, width*fineness/2)
	}
}

func (r raster) dot(at Point, c Color, radius float64) { r.segment(at, at, c, radius*fineness) }

// segment paints all that is within a radius, in pixels, of the way from a to b.
func (r raster) segment(a, b Point, c Color, radius float64) {
	ax, ay, bx, by := a.X*fineness, a.Y*fineness, b.X*fineness, b.Y*fineness
	dx, dy := bx-ax, by-ay
	length := dx*dx + dy*dy
	reach := radius + 1
	for y := int(min(ay, by) - reach); y <= int(max(ay, by)+reach); y++ {
		for x := int(min(ax, bx) - reach); x <= int(max(ax, bx)+reach); x++ {
			px, py := float64(x)+0.5-ax, float64(y)+0.5-ay
			along := 0.0 // share of the way
			if length > 0 {
				along = min(1, max(0, (px*dx+py*dy)/length))
			}
			distance := math.Hypot(px-along*dx, py-along*dy)
			r.blend(x, y, c, min(1, max(0, radius+0.5-distance)))
		}
	}
}

func (r raster) rect(lo, hi Point, c Color) {
	for y := int(math.Round(lo.Y * fineness)); y < int(math.Round(hi.Y*fineness)); y++ {
		for x := int(math.Round(lo.X * fineness)); x < int(math.Round(hi.X*fineness)); x++ {
			r.blend(x, y, c, 1)
		}
	}
}

func (r raster) text(at Point, side side, c Color, size float64, s string) {
	dot := int(size * fineness / 10) // pixels on each side of a glyph's dot
	runes := []rune(s)
	long := len(runes)*glyphStep*dot - dot
	x := int(at.X*fineness) - [...]int{begin: 0, middle: long / 2, end: long}[side]
	y := int(at.Y*fineness) - glyphAscent*dot
	for i, letter := range runes {
		glyph := glyphOf(letter)
		for row, dots := range glyph {
			for column, set := range dots {
				if set {
					left, top := x+(i*glyphStep+column)*dot, y+row*dot
					draw.Draw(r, image.Rect(left, top, left+dot, top+dot), image.NewUniform(rgba(c)), image.Point{}, draw.Src)
				}
			}
		}
	}
}

// blend paints a pixel, as far as it is covered.
func (r raster) blend(x, y int, c Color, covered float64) {
	if covered == 0 || !(image.Point{x, y}).In(r.Rect) {
		return
	}
	below, above := r.RGBAAt(x, y), rgba(c)
	mix := func(below, above uint8) uint8 {
		return uint8(math.Round(float64(below) + covered*(float64(above)-float64(below))))
	}
	r.SetRGBA(x, y, color.RGBA{mix(below.R, above.R), mix(below.G, above.G), mix(below.B, above.B), 255})
}

// rgba reads a color of the palette.
func rgba(c Color) color.RGBA {
	n, err := strconv.ParseUint(palette[c][1:], 16, 24)
	if err != nil {
		panic(err) // the palette is above
	}
	return color.RGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), 255}
}
