package wire

import "sigs.k8s.io/yaml"

// YAMLToJSON converts a document. With strict, duplicate is the error of keys that are there twice.
func YAMLToJSON(document []byte, strict bool) (text []byte, duplicate, err error) {
	if strict {
		if text, duplicate = yaml.YAMLToJSONStrict(document); duplicate == nil {
			return text, nil, nil
		}
	}
	text, err = yaml.YAMLToJSON(document)
	return text, duplicate, err
}
