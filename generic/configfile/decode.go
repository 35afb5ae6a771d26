package configfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Group is the API group of the server's configuration files.
const Group = "apiserver.config.k8s.io"

// Decode reads YAML or JSON of a kind into a value, which has no fields for
// apiVersion and kind. It returns the version of the document, which is one of
// versions. Field names are case-sensitive; unknown and repeated fields are errors.
func Decode(raw []byte, kind string, versions []string, into any) (version string, err error) {
	return DecodeGroup(raw, Group, kind, versions, into)
}

// DecodeGroup is Decode for a kind of another group.
func DecodeGroup(raw []byte, group, kind string, versions []string, into any) (version string, err error) {
	text, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return "", err
	}
	var header metav1.TypeMeta
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(text, &header); err != nil {
		return "", err
	}
	given, version, _ := strings.Cut(header.APIVersion, "/")
	if header.Kind != kind || given != group || !slices.Contains(versions, version) {
		return "", fmt.Errorf("no kind %q is registered for version %q: expected kind %s of %s/%s",
			header.Kind, header.APIVersion, kind, group, strings.Join(versions, ", "))
	}
	problems, err := sigsjson.UnmarshalStrict(text, into)
	if err != nil {
		return "", err
	}
	problems = slices.DeleteFunc(problems, func(err error) bool {
		return err.Error() == `unknown field "apiVersion"` || err.Error() == `unknown field "kind"`
	})
	return version, errors.Join(problems...)
}
