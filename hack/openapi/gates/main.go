// Command gates prints which fields of k8s.io/api's types belong to feature gates, as the
// markers +featureGate of the types say: a line a field, "core/v1 PodSpec.Resources PodLevelResources".
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const marker = "+featureGate"

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: gates FOLDER-OF-K8S.IO/API FILE-OF-REMOVED-GATES")
	}
	removed, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*", "*", "types.go"))
	if err != nil {
		log.Fatal(err)
	}
	out := bufio.NewWriter(os.Stdout)
	for _, file := range files {
		dir, err := filepath.Rel(os.Args[1], filepath.Dir(file))
		if err != nil {
			log.Fatal(err)
		}
		if err := print(out, file, filepath.ToSlash(dir), strings.Fields(string(removed))); err != nil {
			log.Fatal(err)
		}
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

// print writes the lines of a file. Fields of gates that were removed are part of the API.
func print(out io.Writer, file, pkg string, removed []string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		of, ok := spec.Type.(*ast.StructType)
		if !ok {
			return false
		}
		for _, f := range of.Fields.List {
			gates := slices.DeleteFunc(gatesOf(f.Doc), func(g string) bool { return slices.Contains(removed, g) })
			if len(gates) == 0 || len(f.Names) == 0 {
				continue
			}
			if _, err = fmt.Fprintf(out, "%s %s.%s %s\n", pkg, spec.Name, f.Names[0], strings.Join(gates, ",")); err != nil {
				return false
			}
		}
		return false
	})
	return err
}

// gatesOf are the gates that a field needs, all of them.
func gatesOf(doc *ast.CommentGroup) []string {
	var gates []string
	if doc == nil {
		return nil
	}
	for _, line := range doc.List {
		name, value, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line.Text, "//")), "=")
		if !ok || strings.TrimSpace(name) != marker {
			continue
		}
		for gate := range strings.SplitSeq(value, ",") {
			gates = append(gates, strings.TrimSpace(gate))
		}
	}
	return gates
}
