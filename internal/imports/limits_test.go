package imports

import (
	"bufio"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// What a package, a function, a struct and a line may have at most.
const (
	maxFiles  = 20
	maxLines  = 3000
	maxParams = 5
	maxFields = 15
	maxWidth  = 120
)

// riddles are words that comments do not use: a reader has to guess what they stand for. CONTRIBUTING.md has the rule.
var riddles = regexp.MustCompile(`\b(anew|(some|no|any|every)body|whom|those who|who asks|(is|are) said of|` +
	`of (its|their) own|hands? on|lies? in|meanwhile|for ever|in force|at hand|goes on|be it|forgets?|` +
	`in the place of|tells|judges)\b`)

// exceptionsFile lists what exceeds a limit, each with its number and a reason. A number there only shrinks.
const exceptionsFile = "testdata/limits.txt"

// TestSizes compares packages, functions, structs, lines and the words of comments with the limits and their exceptions.
func TestSizes(t *testing.T) {
	found := map[string]int{}
	files, lines := map[string]int{}, map[string]int{}
	eachServedFile(t, func(rel string) {
		source, err := os.ReadFile(filepath.Join(root, rel))
		if err != nil {
			t.Fatal(err)
		}
		pkg, text := filepath.ToSlash(filepath.Dir(rel)), strings.Split(string(source), "\n")
		files[pkg]++
		lines[pkg] += len(text) - 1
		for _, line := range text {
			if utf8.RuneCountInString(line) > maxWidth {
				found["width "+rel]++
			}
		}
		f, _ := parse(t, rel)
		maps.Copy(found, sizesOf(pkg, f))
		for _, comment := range f.Comments {
			if n := len(riddles.FindAllString(comment.Text(), -1)); n > 0 {
				found["words "+pkg] += n
			}
		}
	})
	for pkg, n := range files {
		if n > maxFiles {
			found["files "+pkg] = n
		}
		if lines[pkg] > maxLines {
			found["lines "+pkg] = lines[pkg]
		}
	}
	for _, wrong := range compareSizes(found, readExceptions(t)) {
		t.Error(wrong)
	}
}

// sizesOf returns the functions with too many parameters and the structs with too many fields.
func sizesOf(pkg string, f *ast.File) map[string]int {
	found := map[string]int{}
	count := func(list *ast.FieldList) (n int) {
		for _, field := range list.List {
			n += max(1, len(field.Names))
		}
		return n
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncDecl:
			if c := count(x.Type.Params); c > maxParams {
				found["params "+pkg+" "+x.Name.Name] = c
			}
		case *ast.TypeSpec:
			if s, ok := x.Type.(*ast.StructType); ok && count(s.Fields) > maxFields {
				found["fields "+pkg+" "+x.Name.Name] = count(s.Fields)
			}
		}
		return true
	})
	return found
}

// readExceptions returns the numbers of exceptionsFile: a line is "KIND NAME NUMBER: REASON".
func readExceptions(t *testing.T) map[string]int {
	t.Helper()
	file, err := os.Open(exceptionsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all := map[string]int{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		head, reason, ok := strings.Cut(line, ": ")
		at := strings.LastIndex(head, " ")
		var n int
		if _, err := fmt.Sscan(head[at+1:], &n); !ok || reason == "" || at < 0 || err != nil {
			t.Fatalf("%s: %q is not KIND NAME NUMBER: REASON", exceptionsFile, line)
		}
		all[head[:at]] = n
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// compareSizes returns what exceeds its exception, and exceptions that are no longer needed.
func compareSizes(found, exceptions map[string]int) (wrong []string) {
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if allowed := exceptions[name]; found[name] > allowed {
			wrong = append(wrong, fmt.Sprintf("%s is %d, over its limit (%d in %s)", name, found[name], allowed, exceptionsFile))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(exceptions)) {
		if found[name] == 0 {
			wrong = append(wrong, fmt.Sprintf("%s is within its limit: remove it from %s", name, exceptionsFile))
		}
	}
	return wrong
}

func TestCompareSizes(t *testing.T) {
	wrong := compareSizes(map[string]int{"params a f": 6, "params a g": 7, "files b": 21},
		map[string]int{"params a f": 6, "params a g": 6, "files c": 30})
	if len(wrong) != 3 || !strings.HasPrefix(wrong[0], "files b is 21") || !strings.HasPrefix(wrong[1], "params a g is 7") ||
		!strings.HasPrefix(wrong[2], "files c is within") {
		t.Errorf("%q", wrong)
	}
}
