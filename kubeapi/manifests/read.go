package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"triplane.dev/generic/base/configfile"
)

// Bounds of a directory.
const (
	maxFiles   = 1000
	maxDepth   = 10
	maxObjects = 5000
)

// file is a file of the directory as of a look at it.
type file struct {
	name     string // below the directory, with slashes
	size     int64
	modified time.Time
}

// object is an object of a file.
type object struct {
	*unstructured.Unstructured
	file     string
	document int // from 1
}

// Problem is an error of a file, or of an object in it.
type Problem struct {
	File     string `json:"file"`
	Document int    `json:"document,omitempty"`
	Object   string `json:"object,omitempty"`
	Message  string `json:"message"`
}

// list returns the files of a directory tree, sorted by name.
func list(dir string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && name != "."
		if d.IsDir() {
			if hidden || strings.Count(name, string(filepath.Separator)) >= maxDepth {
				return fs.SkipDir
			}
			return nil
		}
		if hidden || !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(path))) {
			return nil
		}
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil // a dangling link, or deleted concurrently
		}
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		if len(files) == maxFiles {
			return fmt.Errorf("%s has more than %d files", dir, maxFiles)
		}
		files = append(files, file{filepath.ToSlash(name), info.Size(), info.ModTime()})
		return nil
	})
	return files, err
}

// read returns the objects of files, and the problems of files that cannot be read or parsed.
func read(dir string, files []file) (objects []object, problems []Problem) {
	for _, f := range files {
		found, problem := readFile(dir, f.name)
		if problem == nil && len(objects)+len(found) > maxObjects {
			problem = &Problem{Message: fmt.Sprintf("there are more than %d objects", maxObjects)}
		}
		if problem != nil {
			problem.File = f.name
			problems = append(problems, *problem)
			continue
		}
		objects = append(objects, found...)
	}
	return objects, problems
}

// readFile returns the objects of a file. If one cannot be parsed, it returns none.
func readFile(dir, name string) ([]object, *Problem) {
	content, err := configfile.Read(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, &Problem{Message: err.Error()}
	}
	var objects []object
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		var found []*unstructured.Unstructured
		if err == nil {
			found, err = parse(document)
		}
		if err != nil {
			return nil, &Problem{Document: number, Message: err.Error()}
		}
		for _, o := range found {
			objects = append(objects, object{o, name, number})
		}
	}
}

// parse returns the objects of a document: none of an empty one, several of a list.
func parse(document []byte) ([]*unstructured.Unstructured, error) {
	var content map[string]any
	if err := yaml.Unmarshal(document, &content); err != nil {
		return nil, err
	}
	if len(content) == 0 {
		return nil, nil
	}
	u := &unstructured.Unstructured{Object: content}
	if !u.IsList() {
		return []*unstructured.Unstructured{u}, check(u)
	}
	var all []*unstructured.Unstructured
	items, _ := content["items"].([]any)
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, errors.New("an item of the list is not an object")
		}
		one := &unstructured.Unstructured{Object: fields}
		if err := check(one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// check returns an error for an object that cannot be applied.
func check(u *unstructured.Unstructured) error {
	switch {
	case u.GetAPIVersion() == "" || u.GetKind() == "":
		return errors.New("apiVersion and kind are required")
	case u.GetName() == "":
		return fmt.Errorf("a %s has no metadata.name", u.GetKind())
	}
	return nil
}
