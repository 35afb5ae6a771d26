package kindtest

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// answerLine is where the expected answer begins, which is a step's last part.
var answerLine = regexp.MustCompile(`(?m)^\d{3}:`)

// rewrite returns the text of a step with the answer that came.
func (a *answer) rewrite(text string, s *step) string {
	at := answerLine.FindStringIndex(text)
	if at == nil {
		return text
	}
	code := strconv.Itoa(a.code) + ":"
	got := a.shown(s)
	var value any
	switch {
	case a.code >= http.StatusBadRequest && a.code != s.code:
		value = got
	case s.answer != nil:
		value = fill(s.answer, got)
	}
	text = text[:at[0]] + code + behindKey(value)
	if len(a.warnings) > 0 {
		text += "warnings:" + behindKey(anySlice(a.warnings))
	}
	return text
}

// behindKey is a value behind the colon of its key.
func behindKey(v any) string {
	switch x := v.(type) {
	case nil:
		return "\n"
	case string:
		if strings.Contains(x, "\n") {
			return " |\n  " + strings.ReplaceAll(strings.TrimRight(x, "\n"), "\n", "\n  ") + "\n"
		}
	case []any:
		var b strings.Builder
		b.WriteString("\n")
		for _, e := range x {
			b.WriteString("- " + strings.TrimLeft(render(e, 2), " ") + "\n")
		}
		if len(x) > 0 {
			return b.String()
		}
	case map[string]any:
		return "\n" + block(x, 2) + "\n"
	}
	return " " + flow(v) + "\n"
}

func anySlice(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// fill returns the parts of got that want names.
func fill(want, got any) any {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return got
		}
		out := map[string]any{}
		for key, value := range w {
			out[key] = fill(value, g[key])
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) == 0 {
			return got
		}
		out := make([]any, len(g))
		for i := range g {
			out[i] = fill(w[min(i, len(w)-1)], g[i])
		}
		return out
	case string:
		if agrees(w, got) {
			return w
		}
	}
	return got
}

// width is how long a line in flow style may become.
const width = 100

// render returns YAML: in a line where it is short enough, else as a block whose
// further lines are indented.
func render(v any, indent int) string {
	line := flow(v)
	if len(line)+indent <= width {
		return line
	}
	switch x := v.(type) {
	case map[string]any:
		return strings.TrimLeft(block(x, indent), " ")
	case []any:
		return sequence(x, indent)
	}
	return line
}

// sequence is a list over several lines.
func sequence(list []any, indent int) string {
	lines := make([]string, len(list))
	for i, e := range list {
		lines[i] = "- " + render(e, indent+2)
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

// block is a mapping over several lines.
func block(m map[string]any, indent int) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		prefix := strings.Repeat(" ", indent) + scalar(key) + ":"
		value := m[key]
		line := flow(value)
		switch x := value.(type) {
		case map[string]any:
			if len(prefix)+len(line) > width {
				lines = append(lines, prefix, block(x, indent+2))
				continue
			}
		case []any:
			if len(prefix)+len(line) > width {
				lines = append(lines, prefix, strings.Repeat(" ", indent)+sequence(x, indent))
				continue
			}
		}
		lines = append(lines, prefix+" "+line)
	}
	return strings.Join(lines, "\n")
}

// flow is a value in one line.
func flow(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(x)) {
			parts = append(parts, scalar(key)+": "+flow(x[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, e := range x {
			parts = append(parts, flow(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return scalar(x)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(text)
}

var (
	// plain strings mean themselves in YAML without quotes.
	plain = regexp.MustCompile(`^[A-Za-z0-9/<][A-Za-z0-9_./<>=+%-]*( [A-Za-z0-9_./<>=+%-]+)*$`)
	// words would be read as something else than strings.
	words = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|y|n|null|[0-9.+-]+(e[0-9+-]+)?|0[xob].*|\d{4}-\d\d-\d\d.*)$`)
)

func scalar(s string) string {
	if plain.MatchString(s) && !words.MatchString(s) {
		return s
	}
	if strings.ContainsAny(s, "\n\t") {
		return strconv.Quote(s)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
