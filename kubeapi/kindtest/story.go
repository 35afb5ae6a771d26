package kindtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// story is a file of steps.
type story struct {
	file string
	// parts are the texts between the separators; the first is prose.
	parts []part
}

// part is a document of a story.
type part struct {
	line int // where it begins
	text string
}

// step is a request and the answer that is expected.
type step struct {
	method, path string
	body         any
	user         []string
	save         map[string]string

	code     int
	answer   any
	warnings []string
}

const separator = "---\n"

// readStory reads a file.
func readStory(file string) (*story, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &story{file: file}
	line := 1
	for _, p := range strings.Split("\n"+string(text), "\n"+separator) {
		p = strings.TrimPrefix(p, "\n")
		s.parts = append(s.parts, part{line: line, text: p})
		line += strings.Count(p, "\n") + 2
	}
	if len(s.parts) < 2 {
		return nil, fmt.Errorf("%s: no steps", file)
	}
	return s, nil
}

// write replaces the file.
func (s *story) write() error {
	var b strings.Builder
	for i, p := range s.parts {
		if i > 0 {
			b.WriteString("\n" + separator)
		}
		b.WriteString(strings.TrimRight(p.text, "\n"))
	}
	b.WriteString("\n")
	return os.WriteFile(s.file, []byte(b.String()), 0o644)
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// namespace is the story's own.
func (s *story) namespace() string {
	base := strings.TrimSuffix(filepath.Base(s.file), ".yaml")
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(base), "-"), "-")
}

// title is the first line of the comment of a part.
func (p part) title() string {
	first, _, _ := strings.Cut(p.text, "\n")
	return strings.TrimSpace(strings.TrimPrefix(first, "#"))
}

// variable is a reference to a saved value.
var variable = regexp.MustCompile(`\$\{\w+\}`)

// parse reads a step, with the values of variables in it.
func (p part) parse(vars map[string]string) (*step, error) {
	text := variable.ReplaceAllStringFunc(p.text, func(ref string) string {
		if v, ok := vars[ref[2:len(ref)-1]]; ok {
			return v
		}
		return ref
	})
	var fields map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &fields); err != nil {
		return nil, err
	}
	s := &step{}
	for key, value := range fields {
		if err := s.set(key, value); err != nil {
			return nil, err
		}
	}
	if s.method == "" || s.code == 0 {
		return nil, fmt.Errorf("a step has a request and a status code")
	}
	return s, nil
}

func (s *step) set(key string, value any) error {
	if method, path, ok := strings.Cut(key, " "); ok {
		if s.method != "" {
			return fmt.Errorf("two requests: %s and %s", s.method, key)
		}
		s.method, s.path, s.body = method, path, value
		return nil
	}
	if code, err := strconv.Atoi(key); err == nil {
		s.code, s.answer = code, value
		return nil
	}
	switch key {
	case "user":
		s.user = strings.Fields(fmt.Sprint(value))
	case "save":
		s.save = map[string]string{}
		paths, _ := value.(map[string]any)
		for name, path := range paths {
			s.save[name] = fmt.Sprint(path)
		}
	case "warnings":
		list, _ := value.([]any)
		for _, w := range list {
			s.warnings = append(s.warnings, fmt.Sprint(w))
		}
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return nil
}
