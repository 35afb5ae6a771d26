package filters

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// doc.go lists the filters that Chain uses.
func TestDocListsTheChain(t *testing.T) {
	names := func(file, pattern string) []string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(b), -1) {
			out = append(out, strings.ToLower(m[1]))
		}
		return out
	}
	chain := names("chain.go", `(?m)^\t\t\{"(\w+)", with`)
	described := names("doc.go", `(?m)^//\t(\w+)`)
	if len(chain) == 0 || !slices.Equal(chain, described) {
		t.Errorf("the chain is\n%v\nand doc.go describes\n%v", chain, described)
	}
}
