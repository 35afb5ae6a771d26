package kindtest

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answer is what came back.
type answer struct {
	code     int
	body     any
	warnings []string
}

// differences returns what is not as a step expects it.
func (a *answer) differences(s *step) []string {
	var all []string
	if a.code != s.code {
		all = append(all, fmt.Sprintf("status: want %d, got %d: %s", s.code, a.code, a.message()))
	} else if s.answer != nil {
		match("", s.answer, a.shown(s), &all)
	}
	if !slices.Equal(a.warnings, s.warnings) {
		all = append(all, fmt.Sprintf("warnings: want %q, got %q", s.warnings, a.warnings))
	}
	return all
}

// shown is the answer in the form in which a step expects it.
func (a *answer) shown(s *step) any {
	body := normal("", a.body)
	if a.code >= http.StatusBadRequest {
		if _, ok := s.answer.(map[string]any); ok && a.code == s.code {
			return body
		}
		if causes := causes(body); a.code == http.StatusUnprocessableEntity && len(causes) > 0 {
			return causes
		}
		return a.message()
	}
	if s.method == "TABLE" {
		return tableText(body)
	}
	if _, ok := s.answer.([]any); ok && s.method != "WATCH" {
		return itemNames(body)
	}
	return body
}

// message is that of a Status, or the text of another answer.
func (a *answer) message() string {
	if m, ok := lookup(a.body, "message"); ok {
		return normalText(fmt.Sprint(m))
	}
	return strings.TrimSpace(fmt.Sprint(a.body))
}

// causes of an invalid object, as its message has them.
func causes(body any) []any {
	list, _ := lookup(body, "details.causes")
	entries, _ := list.([]any)
	var all []any
	for _, e := range entries {
		cause, ok := e.(map[string]any)
		if !ok {
			continue
		}
		text := fmt.Sprint(cause["message"])
		if f, ok := cause["field"]; ok {
			text = fmt.Sprint(f, ": ", text)
		}
		all = append(all, text)
	}
	return all
}

func itemNames(body any) any {
	list, ok := lookup(body, "items")
	items, isList := list.([]any)
	if !ok || !isList {
		return body
	}
	all := []any{}
	for _, item := range items {
		name, _ := lookup(item, "metadata.name")
		all = append(all, name)
	}
	return all
}

// match appends what differs of the values that are wanted.
func match(path string, want, got any, all *[]string) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(w)) {
			match(path+"."+key, w[key], g[key], all)
		}
		return
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			match(path+"["+strconv.Itoa(i)+"]", w[i], g[i], all)
		}
		return
	case string:
		if agrees(w, got) {
			return
		}
	default:
		if want == got {
			return
		}
	}
	*all = append(*all, difference(path, want, got))
}

func difference(path string, want, got any) string {
	if path == "" {
		path = "answer"
	}
	w, g := indented(want), indented(got)
	if strings.Contains(w+g, "\n") {
		return fmt.Sprintf("%s: want\n    %s\n  got\n    %s", path, w, g)
	}
	return fmt.Sprintf("%s: want %s, got %s", path, w, g)
}

// indented is a value for a message, its further lines below the first.
func indented(v any) string {
	if text, ok := v.(string); ok && strings.Contains(text, "\n") {
		return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
	}
	return render(v, 4)
}

const (
	// anything is what matches every value.
	anything = "<any>"
	// andSoOn ends a text of which only the beginning matters.
	andSoOn = " ..."
)

// agrees reports whether a value is the one that a text stands for.
func agrees(want string, got any) bool {
	if want == anything {
		return got != nil
	}
	text, ok := got.(string)
	if !ok {
		return false
	}
	if begin, cut := strings.CutSuffix(want, andSoOn); cut && strings.HasPrefix(text, strings.TrimSpace(begin)) {
		return true
	}
	return strings.TrimSpace(want) == strings.TrimSpace(text)
}

// normal replaces what differs from run to run.
func normal(key string, v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = normal(k, e)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = normal(key, e)
		}
		return out
	case string:
		if key == "resourceVersion" && x != "" {
			return "<version>"
		}
		return normalText(x)
	}
	return v
}

var (
	uidText  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timeText = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	ageText  = regexp.MustCompile(`^(\d+y)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?$`)
)

func normalText(s string) string {
	s = uidText.ReplaceAllString(s, "<uid>")
	return timeText.ReplaceAllStringFunc(s, func(text string) string {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || time.Since(at).Abs() > time.Hour {
			return text
		}
		return "<time>"
	})
}

// lookup finds a value by its dotted path; items of lists have numbers.
func lookup(v any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			e, ok := x[name]
			if !ok {
				return nil, false
			}
			v = e
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}
