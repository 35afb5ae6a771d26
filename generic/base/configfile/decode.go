package configfile

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Group is the API group of configuration files.
const Group = "apiserver.config.k8s.io"

// Decode decodes YAML or JSON of a kind into a value without the fields apiVersion and kind. It returns the
// document's version, which is one of versions. Field names are case-sensitive. Unknown and duplicate fields
// are errors.
func Decode(raw []byte, kind string, versions []string, into any) (version string, err error) {
	kinds := make([]schema.GroupVersionKind, len(versions))
	for i := range versions {
		kinds[i] = schema.GroupVersionKind{Group: Group, Version: versions[i], Kind: kind}
	}
	found, err := DecodeAs(raw, kinds, into)
	return found.Version, err
}

// DecodeAs is Decode for several kinds, which may be of other groups. It returns the kind of the document. An
// error that is only about unknown and duplicate fields is a strict decoding error of package runtime, and into
// has the others.
func DecodeAs(raw []byte, kinds []schema.GroupVersionKind, into any) (found schema.GroupVersionKind, err error) {
	text, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return found, err
	}
	var header metav1.TypeMeta
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(text, &header); err != nil {
		return found, err
	}
	found = header.GroupVersionKind()
	if !slices.Contains(kinds, found) {
		return found, fmt.Errorf("no kind %q is registered for version %q: expected %s", header.Kind, header.APIVersion,
			expected(kinds))
	}
	problems, err := sigsjson.UnmarshalStrict(text, into)
	if err != nil {
		return found, err
	}
	problems = slices.DeleteFunc(problems, func(err error) bool {
		return err.Error() == `unknown field "apiVersion"` || err.Error() == `unknown field "kind"`
	})
	if len(problems) > 0 {
		return found, runtime.NewStrictDecodingError(problems)
	}
	return found, nil
}

// expected formats kinds: "kind A of g/v1, v1beta1; kind B of h/v1".
func expected(kinds []schema.GroupVersionKind) string {
	var text strings.Builder
	for i, k := range kinds {
		switch {
		case i > 0 && k.Kind == kinds[i-1].Kind && k.Group == kinds[i-1].Group:
			text.WriteString(", " + k.Version)
			continue
		case i > 0:
			text.WriteString("; ")
		}
		text.WriteString("kind " + k.Kind + " of " + k.GroupVersion().String())
	}
	return text.String()
}
