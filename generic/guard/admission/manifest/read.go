package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"triplane.dev/generic/base/configfile"
)

// maxDocument limits the size of a YAML document in bytes.
const maxDocument = 8 << 20

// CheckDir validates the field staticManifestsDir.
func CheckDir(dir string) error {
	path := field.NewPath("staticManifestsDir")
	if !filepath.IsAbs(dir) {
		return field.Invalid(path, dir, "must be an absolute file path")
	}
	info, err := os.Stat(dir)
	if err != nil {
		return field.Invalid(path, dir, fmt.Sprintf("unable to read: %v", err))
	}
	if !info.IsDir() {
		return field.Invalid(path, dir, "must be a directory")
	}
	return nil
}

// file is a manifest.
type file struct {
	Path    string
	Content []byte
}

// read returns the manifests of a directory, encoded together and ordered by name, or nil if it has none.
func read(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []file
	for _, e := range entries {
		if e.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		content, err := configfile.Read(path)
		if err != nil {
			return nil, err
		}
		files = append(files, file{path, content})
	}
	if len(files) == 0 {
		return nil, nil
	}
	return json.Marshal(files)
}

// decoder returns a strict decoder of admission webhooks and policies, and of lists of them.
func decoder() (runtime.Decoder, error) {
	scheme := runtime.NewScheme()
	if err := admissionv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.List{})
	return jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme, scheme,
		jsonserializer.SerializerOptions{Yaml: true, Strict: true}), nil
}

// decode calls each with the objects of a file in their order.
func decode(d runtime.Decoder, content []byte, each func(runtime.Object) error) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReaderSize(bytes.NewReader(content), min(len(content)+1, maxDocument)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := yaml.YAMLToJSON(document)
		if err != nil {
			return err
		}
		if string(text) == "null" {
			continue // the document has only comments
		}
		obj, _, err := d.Decode(document, nil, nil)
		if err != nil {
			return err
		}
		if err := items(d, obj, each); err != nil {
			return err
		}
	}
}

// items calls each with the items of a list, or with obj itself if it is not a list.
func items(d runtime.Decoder, obj runtime.Object, each func(runtime.Object) error) error {
	list, ok := obj.(*corev1.List)
	if !ok {
		if meta.IsListType(obj) {
			return meta.EachListItem(obj, each)
		}
		return each(obj)
	}
	for i := range list.Items {
		item, _, err := d.Decode(list.Items[i].Raw, nil, nil)
		if err != nil {
			return err
		}
		if err := each(item); err != nil {
			return err
		}
	}
	return nil
}
