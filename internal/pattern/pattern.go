// Package pattern searches regular expressions in long texts of clients, and stops when the result is no longer needed.
//
// The time of a search is proportional to the length of the text and to the number of states of the expression,
// of which a megabyte of source can have a million. Package regexp cannot be interrupted, but it reads its text
// from a reader, which can end.
package pattern

import (
	"errors"
	"io"
	"math"
	"regexp"
	"unicode/utf8"
)

// ErrStopped means that a search was stopped before its end.
var ErrStopped = errors.New("the search for a pattern was stopped")

// short is the product of the lengths of a text and of an expression up to which a search takes less than about
// 100 ms: a source of n bytes has at most about 1,000 n states.
const short = 1 << 14

// Long reports whether a search can take so long that it has to be interruptible.
func Long(text, source string) bool { return len(text) > Limit(len(source)) }

// Limit returns the length of the longest text that is not Long for an expression of a length.
func Limit(source int) int {
	if source == 0 {
		return math.MaxInt
	}
	return short / source
}

// Find returns the bounds of the leftmost match, or -1. It calls stopped from time to time and returns
// ErrStopped after it was true.
func Find(re *regexp.Regexp, text string, stopped func() bool) (from, to int, err error) {
	r := &reader{text: text, stopped: stopped, interval: max(1, short/max(1, len(re.String())))}
	if r.stopped() {
		return -1, -1, ErrStopped
	}
	found := re.FindReaderIndex(r)
	switch {
	case r.ended:
		return -1, -1, ErrStopped
	case found == nil:
		return -1, -1, nil
	}
	return found[0], found[1], nil
}

// Match reports whether an expression matches a text. A search that cannot take long is not interrupted.
func Match(re *regexp.Regexp, text string, stopped func() bool) (bool, error) {
	if !Long(text, re.String()) {
		return re.MatchString(text), nil
	}
	from, _, err := Find(re, text, stopped)
	return from >= 0, err
}

// reader reads a text until stopped is true.
type reader struct {
	text     string
	at       int
	stopped  func() bool
	interval int // between calls of stopped, in runes
	runes    int
	ended    bool
}

// ReadRune implements io.RuneReader.
func (r *reader) ReadRune() (rune, int, error) {
	r.runes++
	if r.ended || r.runes%r.interval == 0 && r.stopped() {
		r.ended = true
		return 0, 0, io.EOF
	}
	if r.at == len(r.text) {
		return 0, 0, io.EOF
	}
	c, n := utf8.DecodeRuneInString(r.text[r.at:])
	r.at += n
	return c, n, nil
}
