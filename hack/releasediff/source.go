package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// module is a public module with the folders in it that are compared.
type module struct {
	path string
	dirs []string
}

// modules have the API of the server. Those of client-go and of the server itself have nothing to decide.
var modules = []module{
	{"k8s.io/api", []string{"."}},
	{"k8s.io/apimachinery", []string{"pkg/apis/meta"}},
	{"k8s.io/apiextensions-apiserver", []string{"pkg/apis/apiextensions/v1"}},
	{"k8s.io/kube-aggregator", []string{"pkg/apis/apiregistration/v1"}},
	{"k8s.io/component-base", []string{"."}},
}

// facts are what the source of one release says, as lines by name. Names are unique within a section.
type facts map[string]map[string]string

func (f facts) set(section, name, value string) {
	if f[section] == nil {
		f[section] = map[string]string{}
	}
	f[section][name] = value
}

// Sections of facts.
const (
	kinds     = "Kinds"
	types     = "Types"
	fields    = "Fields"
	markers   = "Markers"
	gates     = "Feature gates of fields"
	lifecycle = "Lifecycle"
	constants = "Constants"
	flags     = "Flags of component-base"
)

// readRelease reads the modules at a version from the module cache, and downloads those that are not there.
func readRelease(version string) (facts, error) {
	f := facts{}
	for _, m := range modules {
		dir, err := download(m.path + "@" + version)
		if err != nil {
			return nil, err
		}
		for _, sub := range m.dirs {
			if err := f.readTree(dir, filepath.Join(dir, sub), m.path); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// download returns the folder of a module in the module cache.
func download(module string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var result struct{ Dir, Error string }
	if decoded := json.Unmarshal(out, &result); err != nil || decoded != nil {
		return "", fmt.Errorf("go mod download %s: %s %w", module, result.Error, err)
	}
	return result.Dir, nil
}

func (f facts) readTree(root, tree, path string) error {
	return filepath.WalkDir(tree, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "testdata" {
			return firstOf(err, fs.SkipDir)
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		if path == "k8s.io/component-base" {
			f.readFlags(file)
			return nil
		}
		f.readTypes(strings.TrimPrefix(filepath.ToSlash(pkg), "pkg/apis/"), file)
		return nil
	})
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// readTypes reads a file of an API package, "apps/v1".
func (f facts) readTypes(pkg string, file *ast.File) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			f.readLifecycle(pkg, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					f.readType(pkg, s, d.Doc)
				case *ast.ValueSpec:
					f.readConstants(pkg, d.Tok, s)
				}
			}
		}
	}
}

// readLifecycle reads the generated methods APILifecycleIntroduced and so on, which return a major and a minor version.
func (f facts) readLifecycle(pkg string, d *ast.FuncDecl) {
	when, ok := strings.CutPrefix(d.Name.Name, "APILifecycle")
	if !ok || d.Recv == nil || len(d.Body.List) != 1 {
		return
	}
	ret, ok := d.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 2 {
		return
	}
	f.set(lifecycle, pkg+"."+receiver(d)+" "+strings.ToLower(when), text(ret.Results[0])+"."+text(ret.Results[1]))
}

func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	return text(t)
}

func (f facts) readType(pkg string, s *ast.TypeSpec, doc *ast.CommentGroup) {
	if !s.Name.IsExported() {
		return
	}
	name := pkg + "." + s.Name.Name
	f.set(types, name, kindOf(s.Type))
	f.readMarkers(name, doc)
	body, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	object, list := false, false
	for _, field := range body.Fields.List {
		tag := ""
		if field.Tag != nil {
			unquoted, _ := strconv.Unquote(field.Tag.Value) // a field without a readable tag has none
			tag, _, _ = strings.Cut(tagOf(unquoted), ",")
		}
		kind := text(field.Type)
		object = object || kind == "metav1.TypeMeta" || kind == "TypeMeta"
		list = list || kind == "metav1.ListMeta" || kind == "ListMeta"
		if len(field.Names) == 0 {
			continue
		}
		f.set(fields, name+"."+tag, kind)
		f.readMarkers(name+"."+tag, field.Doc)
	}
	if object && !list {
		f.set(kinds, name, "")
	}
}

var jsonTag = regexp.MustCompile(`json:"([^"]*)"`)

func tagOf(tag string) string {
	if m := jsonTag.FindStringSubmatch(tag); m != nil {
		return m[1]
	}
	return ""
}

// readMarkers reads the lines of a comment that begin with "+". Feature gates have a section of their own.
func (f facts) readMarkers(name string, doc *ast.CommentGroup) {
	if doc == nil {
		return
	}
	for _, c := range doc.List {
		marker, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")), "+")
		if !ok || marker == "" {
			continue
		}
		if gate, ok := strings.CutPrefix(marker, "featureGate="); ok {
			f.set(gates, gate+" "+name, "")
			continue
		}
		f.set(markers, name+" +"+marker, "")
	}
}

func (f facts) readConstants(pkg string, tok token.Token, s *ast.ValueSpec) {
	if tok != token.CONST {
		return
	}
	for i, name := range s.Names {
		if name.IsExported() && i < len(s.Values) {
			f.set(constants, pkg+"."+name.Name, text(s.Values[i]))
		}
	}
}

// readFlags reads the names of flags: the string that a call of a method such as fs.BoolVar has as second argument.
func (f facts) readFlags(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 3 {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !strings.HasSuffix(method.Sel.Name, "Var") && !strings.HasSuffix(method.Sel.Name, "VarP") {
			return true
		}
		if name, ok := call.Args[1].(*ast.BasicLit); ok && name.Kind == token.STRING {
			f.set(flags, strings.Trim(name.Value, `"`), "")
		}
		return true
	})
}

func kindOf(t ast.Expr) string {
	if _, ok := t.(*ast.StructType); ok {
		return "struct"
	}
	return text(t)
}

// text prints the expressions that types, tags and constants are made of.
func text(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.BasicLit:
		return x.Value
	case *ast.StarExpr:
		return "*" + text(x.X)
	case *ast.SelectorExpr:
		return text(x.X) + "." + x.Sel.Name
	case *ast.ArrayType:
		return "[]" + text(x.Elt)
	case *ast.MapType:
		return "map[" + text(x.Key) + "]" + text(x.Value)
	case *ast.BinaryExpr:
		return text(x.X) + x.Op.String() + text(x.Y)
	case *ast.CallExpr:
		return text(x.Fun) + "()"
	}
	return fmt.Sprintf("%T", e)
}
