package plot

import (
	_ "embed"
	"strings"
	"sync"
)

// Glyphs are 5 dots wide and 9 high, the lowest 2 of them below the base line.
const (
	glyphWidth  = 5
	glyphHeight = 9
	glyphAscent = 7
	glyphStep   = 6 // from one to the next
)

// glyph is a letter's dots, row by row.
type glyph [glyphHeight][glyphWidth]bool

// fontText draws the glyphs: a line that names those of a band, and nine lines with
// their dots.
//
//go:embed font.txt
var fontText string

var font = sync.OnceValue(func() map[rune]glyph {
	glyphs := map[rune]glyph{}
	lines := strings.Split(fontText, "\n")
	for ; len(lines) > glyphHeight; lines = lines[1+glyphHeight:] {
		for at := 0; at < len(lines[0]); at += glyphStep {
			var g glyph
			for row := range g {
				for column := range g[row] {
					g[row][column] = lines[1+row][at+column] == '#'
				}
			}
			glyphs[rune(lines[0][at])] = g
		}
	}
	return glyphs
})

// glyphOf is the letter's glyph, or that of a question mark.
func glyphOf(letter rune) glyph {
	if g, ok := font()[letter]; ok {
		return g
	}
	return font()['?']
}
