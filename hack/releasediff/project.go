package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// project is the words of the project's source and tables.
type project map[string]bool

// rooms hold the rules of the kinds.
var rooms = []string{"kubeapi", "generic", "aggregator", "apiextensions"}

var word = regexp.MustCompile(`[A-Za-z][A-Za-z0-9-]*`)

// readProject reads the words of the rooms below the root of the project.
func readProject(root string) (project, error) {
	words := project{}
	for _, room := range rooms {
		err := filepath.WalkDir(filepath.Join(root, room), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") {
				return err
			}
			switch filepath.Ext(name) {
			case ".go", ".md", ".txt", ".yaml":
			default:
				return nil
			}
			content, err := os.ReadFile(name)
			for _, w := range word.FindAllString(string(content), -1) {
				words[strings.ToLower(w)] = true
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return words, nil
}

// has reports whether the project mentions what a line of a section is about: the gate, or the last part of a name.
func (p project) has(section, name string) bool {
	switch section {
	case gates:
		name, _, _ = strings.Cut(name, " ")
	case created:
		name = name[strings.LastIndex(name, "/")+1:]
		return p[strings.ToLower(name[strings.LastIndex(name, ":")+1:])]
	default:
		name, _, _ = strings.Cut(name, " ")
		name = name[strings.LastIndexAny(name, "./")+1:]
	}
	return p[strings.ToLower(name)]
}
