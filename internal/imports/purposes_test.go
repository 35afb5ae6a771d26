package imports

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// explained are the folders of e2e whose files start with a sentence about their test.
var explained = []string{"admission", "clients", "controllers", "deploy", "extensions", "kine", "kubectl", "replicas", "serving", "store"}

func TestFilesOfTestsSayWhatTheyTest(t *testing.T) {
	for _, folder := range explained {
		files, err := filepath.Glob(filepath.Join(root, "e2e", folder, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("e2e/%s: %d files, %v", folder, len(files), err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Comments) == 0 || f.Comments[0].Pos() > f.Package {
				t.Errorf("%s does not say what it tests", strings.TrimPrefix(file, root+"/"))
			}
		}
	}
}
