package manifests

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

const namespace = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}`

// Links to files are followed, as in mounted config maps; links to directories, pipes and hidden files are not.
func TestList(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, dir, "b.yaml", namespace)
	write(t, dir, "a/c.JSON", namespace)
	write(t, dir, ".d/e.yaml", namespace)
	write(t, dir, "f.txt", namespace)
	write(t, dir, strings.Repeat("d/", maxDepth+1)+"deep.yaml", namespace)
	write(t, other, "g.yaml", namespace)
	for link, target := range map[string]string{"h.yml": filepath.Join(other, "g.yaml"), "i": other, "j.yaml": "none", "k": "."} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "l.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	if want := []string{"a/c.JSON", "b.yaml", "h.yml"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if _, err := list(filepath.Join(dir, "none")); err == nil {
		t.Error("a missing directory is no error")
	}
}

func TestListIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range maxFiles + 1 {
		write(t, dir, fmt.Sprintf("%d.yaml", i), "")
	}
	if _, err := list(dir); err == nil || !strings.Contains(err.Error(), "more than 1000 files") {
		t.Error(err)
	}
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		content  string
		objects  int
		document int
		problem  string
	}{
		"documents":      {content: "# a comment\n---\n" + namespace + "\n---\n---\n" + namespace, objects: 2},
		"a list":         {content: `{"apiVersion":"v1","kind":"List","items":[` + namespace + "," + namespace + "]}", objects: 2},
		"nothing":        {content: "\n# nothing\n"},
		"no YAML":        {content: namespace + "\n---\na: [", document: 2, problem: "yaml"},
		"no object":      {content: "- a\n- b\n", document: 1, problem: "cannot unmarshal"},
		"no kind":        {content: "apiVersion: v1\nmetadata: {name: a}\n", document: 1, problem: "apiVersion and kind are required"},
		"no name":        {content: "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a}\n", document: 1, problem: "a Pod has no metadata.name"},
		"a strange list": {content: `{"apiVersion":"v1","kind":"List","items":[1]}`, document: 1, problem: "not an object"},
		"too large":      {content: strings.Repeat("#", 9<<20), problem: "more than"},
		"aliases": {content: "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
			"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n", document: 1, problem: "aliasing"},
	} {
		dir := t.TempDir()
		write(t, dir, "a.yaml", c.content)
		write(t, dir, "b.yaml", namespace)
		objects, problems := read(dir, []file{{name: "a.yaml"}, {name: "b.yaml"}})
		if len(objects) != c.objects+1 {
			t.Errorf("%s: %d objects", name, len(objects))
		}
		switch {
		case c.problem == "" && len(problems) == 0:
		case len(problems) != 1 || c.problem == "" || problems[0].Document != c.document || problems[0].File != "a.yaml" ||
			!strings.Contains(problems[0].Message, c.problem):
			t.Errorf("%s: %+v", name, problems)
		}
	}
}

func TestObjectsAreBounded(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", strings.Repeat("---\n"+namespace+"\n", maxObjects))
	write(t, dir, "b.yaml", namespace)
	objects, problems := read(dir, []file{{name: "a.yaml"}, {name: "b.yaml"}})
	if len(objects) != maxObjects || len(problems) != 1 || problems[0].File != "b.yaml" {
		t.Errorf("%d objects, %v", len(objects), problems)
	}
}

// Objects move between files and versions, and those of broken files are kept.
func TestPlan(t *testing.T) {
	ref := func(version, name, file string) reference {
		return reference{APIVersion: version, Kind: "Widget", Namespace: "n", Name: name, File: file}
	}
	before := []reference{ref("g/v1", "moved", "a"), ref("g/v1", "removed", "a"), ref("g/v1", "broken", "b")}
	p := newPlan(before, []Problem{{File: "b"}})
	p.keep(ref("g/v2", "moved", "c"))
	p.keep(ref("g/v1", "new", "c"))
	var pruned []string
	for _, r := range p.all {
		if !p.kept[r.identity()] {
			pruned = append(pruned, r.Name)
		}
	}
	if !slices.Equal(pruned, []string{"removed"}) {
		t.Errorf("pruned %q", pruned)
	}
	if moved := p.references[before[0].identity()]; moved.File != "c" || moved.APIVersion != "g/v2" {
		t.Errorf("%+v", moved)
	}
}
