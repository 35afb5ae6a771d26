package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// readAll reads the objects of a file, of the YAML files of a directory, or of in if source is "-".
func readAll(source string, in io.Reader) ([]*unstructured.Unstructured, error) {
	if source == "-" {
		return read(in, "the input")
	}
	files, err := filesOf(source)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		objects, err := read(f, file)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// filesOf returns the YAML files of a directory, or the file itself.
func filesOf(source string) ([]string, error) {
	info, err := os.Stat(source)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{source}, nil
	}
	files, err := fs.Glob(os.DirFS(source), "*.yaml")
	for i, name := range files {
		files[i] = filepath.Join(source, name)
	}
	return files, err
}

// read reads the objects of YAML or JSON documents; name is the name of the source in errors.
func read(r io.Reader, name string) (all []*unstructured.Unstructured, err error) {
	d := utilyaml.NewYAMLOrJSONDecoder(r, 4096)
	for {
		var document json.RawMessage
		o := &unstructured.Unstructured{}
		err := d.Decode(&document)
		if err == nil && len(document) > 0 {
			// The decoder itself would decode all numbers as floats, which changes large integers.
			err = utiljson.Unmarshal(document, &o.Object)
		}
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s, document %d: %w", name, len(all)+1, err)
		case len(o.Object) == 0:
			continue // an empty document
		case o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "":
			return nil, fmt.Errorf("%s, document %d: apiVersion, kind or name is missing", name, len(all)+1)
		}
		all = append(all, o)
	}
}
