package pattern

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// TestFind compares with package regexp.
func TestFind(t *testing.T) {
	never := func() bool { return false }
	for _, source := range []string{"a", "^b", "b$", `\bc\b`, "x|€+", "", "z", "(?s).*", `\x{fffd}`} {
		for _, text := range []string{"", "a", "bab", "a c b", "x€€b", "\xffb", strings.Repeat("ab", 100_000) + " c b"} {
			re := regexp.MustCompile(source)
			want := re.FindStringIndex(text)
			from, to, err := Find(re, text, never)
			if err != nil || want == nil && from != -1 || want != nil && (from != want[0] || to != want[1]) {
				t.Errorf("%q in %.20q: %d %d %v, want %v", source, text, from, to, err, want)
			}
			if got, err := Match(re, text, never); err != nil || got != (want != nil) {
				t.Errorf("%q in %.20q: %v %v, want %v", source, text, got, err, want != nil)
			}
		}
	}
}

// TestStoppedFind expects that a search ends soon after nobody needs its result. Without that, this one takes
// minutes.
func TestStoppedFind(t *testing.T) {
	re := regexp.MustCompile(strings.Repeat("(a?){500}", 20) + "$b")
	calls := 0
	_, err := Match(re, strings.Repeat("a", 1<<20), func() bool { calls++; return calls > 2 })
	if !errors.Is(err, ErrStopped) || calls != 3 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
