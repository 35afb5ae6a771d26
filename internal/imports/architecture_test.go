package imports

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxMap is how many lines ARCHITECTURE.md may have.
const maxMap = 150

// ARCHITECTURE.md is short, names every folder to depth 2, and every folder that it names exists.
func TestArchitectureNamesTheFolders(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > maxMap {
		t.Errorf("ARCHITECTURE.md has %d lines, over its limit of %d", n, maxMap)
	}
	listed, err := exec.Command("git", "-C", root, "ls-files").Output()
	if err != nil {
		t.Skip("without git, generated folders cannot be distinguished from others: ", err)
	}
	for _, wrong := range compareLayout(layoutOf(string(text)), foldersOf(string(listed))) {
		t.Error(wrong)
	}
}

var folderName = regexp.MustCompile(`[\w.-]+(/[\w.-]+)*/`)

// layoutOf returns the folders that the layout names by the folder at the root in whose entry they stand. An entry
// begins with a line that is not indented.
func layoutOf(document string) map[string][]string {
	_, rest, _ := strings.Cut(document, "## Layout\n\n```\n")
	block, _, _ := strings.Cut(rest, "```")
	named, entry := map[string][]string{}, ""
	for line := range strings.Lines(block) {
		folders := folderName.FindAllString(line, -1)
		if !strings.HasPrefix(line, " ") && len(folders) > 0 {
			entry, _, _ = strings.Cut(folders[0], "/")
		}
		for _, folder := range folders {
			named[entry] = append(named[entry], strings.TrimSuffix(folder, "/"))
		}
	}
	return named
}

// foldersOf returns the folders of a list of files, apart from hidden ones and test data.
func foldersOf(files string) map[string]bool {
	folders := map[string]bool{}
	for file := range strings.Lines(files) {
		for dir := path.Dir(strings.TrimSpace(file)); dir != "."; dir = path.Dir(dir) {
			if !strings.HasPrefix(dir, ".") && !strings.Contains(dir, "testdata") {
				folders[dir] = true
			}
		}
	}
	return folders
}

// compareLayout returns the folders to depth 2 that the layout does not name, and the names without a folder. A name
// is a path from the root, from the folder of its entry, or from a folder in that.
func compareLayout(named map[string][]string, folders map[string]bool) []string {
	var wrong []string
	for folder := range folders {
		entry, name, nested := strings.Cut(folder, "/")
		if strings.Contains(name, "/") {
			continue
		}
		if names, ok := named[entry]; !ok || nested && !slices.Contains(names, name) && !slices.Contains(names, folder) {
			wrong = append(wrong, "ARCHITECTURE.md does not name the folder "+folder)
		}
	}
	for entry, names := range named {
		for _, name := range names {
			exists := func(folder string) bool {
				return folder == name || folder == entry+"/"+name ||
					strings.HasPrefix(folder, entry+"/") && strings.HasSuffix(folder, "/"+name)
			}
			found := false
			for folder := range folders {
				found = found || exists(folder)
			}
			if !found {
				wrong = append(wrong, "ARCHITECTURE.md names a folder that does not exist: "+name+" in "+entry)
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

func TestCompareLayout(t *testing.T) {
	named := layoutOf("## Layout\n\n```\na/  first: one/\n  two/  and gone/\nb/c/ last\n```\nafter/")
	folders := foldersOf("a/one/x.go\na/two/three/y.go\na/four/z.go\nb/c/x.go\n.ci/run\na/testdata/x\n")
	got := compareLayout(named, folders)
	want := []string{"ARCHITECTURE.md does not name the folder a/four",
		"ARCHITECTURE.md names a folder that does not exist: gone in a"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
