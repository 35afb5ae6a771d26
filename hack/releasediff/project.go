package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// project is what a project has: the words of its source and tables, the packages of k8s.io/api that it imports, what
// the version of the libraries that it requires has, and what it leaves out with a reason.
type project struct {
	words, packages, leftOut map[string]bool
	// validated are the groups whose objects are validated by what k8s.io/api generates from the markers.
	validated map[string]bool
	// present is nil if the version is that which is compared.
	present facts
}

// rooms hold the rules of the kinds.
var rooms = []string{"kubeapi", "generic", "aggregator", "apiextensions"}

// imported is the import of a package of API types: its path below the module or the folder of packages.
var imported = regexp.MustCompile(`"k8s\.io/(?:api|apimachinery/pkg/apis)/([a-z0-9/]+)"`)

// generated is a use of generated validation, of a package with the usual alias.
var generated = regexp.MustCompile(`\b([a-z]+)v[0-9][a-z0-9]*\.Validate_`)

var word = regexp.MustCompile(`[A-Za-z][A-Za-z0-9-]*`)

// readProject reads the words of the rooms below the root of the project.
func readProject(root string) (project, error) {
	p := project{words: map[string]bool{}, packages: map[string]bool{}, leftOut: map[string]bool{},
		validated: map[string]bool{}}
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
				p.words[strings.ToLower(w)] = true
			}
			for _, found := range imported.FindAllStringSubmatch(string(content), -1) {
				p.packages[found[1]] = true
			}
			for _, found := range generated.FindAllStringSubmatch(string(content), -1) {
				p.validated[found[1]] = true
			}
			return err
		})
		if err != nil {
			return p, err
		}
	}
	list, err := os.ReadFile(filepath.Join(root, "hack", "releasediff", "leftout.txt"))
	for line := range strings.Lines(string(list)) {
		name, _, _ := strings.Cut(line, " ")
		p.leftOut[name] = true
	}
	return p, err
}

// has reports whether the project has what a line of a section is about. Types come with the package that the project
// imports, and lists with their kind. Others are mentioned: the gate, or the last part of a name. What later versions
// of the libraries dropped again needs no counterpart.
func (p project) has(section, name string) bool {
	if p.present[section] != nil && p.present[section][name] == "" {
		return true
	}
	full, _, _ := strings.Cut(name, " ")
	if p.leftOut[full] {
		return true
	}
	at, last := full, full[strings.LastIndexAny(full, "./")+1:]
	if i := strings.Index(full, "."); i >= 0 {
		at = full[:i]
	}
	switch section {
	case gates:
		last = full
	case created:
		last = name[strings.LastIndex(name, "/")+1:]
		last = last[strings.LastIndex(last, ":")+1:]
	case types, lifecycle:
		if p.packages[at] {
			return true
		}
		last = strings.TrimSuffix(last, "List")
	case fields, constants:
		if group, _, _ := strings.Cut(at, "/"); p.validated[group] && p.packages[at] {
			return true
		}
	}
	return p.words[strings.ToLower(last)]
}

// requiredVersion returns the version of k8s.io/api that the project requires, "" if it requires none.
func requiredVersion(root string) string {
	content, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return ""
	}
	found := regexp.MustCompile(`(?m)^\s*(?:require )?k8s\.io/api (v\S+)`).FindSubmatch(content)
	if found == nil {
		return ""
	}
	return string(found[1])
}
