package batch

import (
	"fmt"
	"strconv"
	"strings"
)

// interval is an inclusive range of indexes.
type interval struct{ first, last int }

// parseIndexes reads a list such as "0,2-4" of indexes below completions, in
// increasing order, and returns its intervals and how many indexes they hold. With an
// error come those intervals before the one at which reading ended.
func parseIndexes(text string, completions int32) ([]interval, int32, error) {
	if text == "" {
		return nil, 0, nil
	}
	var out []interval
	var total int32
	previous := -1
	for _, part := range strings.Split(text, ",") {
		limits := strings.Split(part, "-")
		if len(limits) > 2 {
			return out, total, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", part)
		}
		first, err := parseIndex(limits[0], completions, previous)
		if err != nil {
			return out, total, err
		}
		last := first
		if len(limits) == 2 {
			if last, err = parseIndex(limits[1], completions, first); err != nil {
				return out, total, err
			}
		}
		previous = last
		total += int32(last - first + 1)
		out = append(out, interval{first, last})
	}
	return out, total, nil
}

func parseIndex(s string, completions int32, previous int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("cannot convert string to integer for index: %q", s)
	}
	if n >= int(completions) {
		return 0, fmt.Errorf("too large index: %q", s)
	}
	if n <= previous {
		return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", previous, n)
	}
	return n, nil
}

// overlap returns an index that both lists hold.
func overlap(a, b []interval) (int, bool) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if first := max(a[i].first, b[j].first); first <= min(a[i].last, b[j].last) {
			return first, true
		}
		if a[i].last < b[j].last {
			i++
		} else {
			j++
		}
	}
	return 0, false
}
