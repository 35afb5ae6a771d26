//go:build generate

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"log"
	"os"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"triplane.dev/hack/openapi/models"
)

// model is one entry; generic/api/openapi/models reads it. References are written as
// "@" and the model's name.
type model struct {
	Schema       spec.Schema  `json:"schema"`
	V2Schema     *spec.Schema `json:"v2Schema,omitempty"`
	Dependencies []string     `json:"dependencies,omitempty"`
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: openapi FILE")
	}
	definitions := models.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("@" + name)
	})
	out := make(map[string]model, len(definitions))
	for name, d := range definitions {
		m := model{Schema: d.Schema, Dependencies: d.Dependencies}
		if v2, ok := d.Schema.Extensions[common.ExtensionV2Schema].(spec.Schema); ok {
			m.V2Schema = &v2
			delete(m.Schema.Extensions, common.ExtensionV2Schema)
		}
		dropItemDefaults(&m.Schema)
		out[name] = m
	}
	if err := write(os.Args[1], out); err != nil {
		log.Fatal(err)
	}
}

// dropItemDefaults takes away the defaults of lists' items and of maps' values:
// they are Go's zero values, and no item is ever left out of a list.
func dropItemDefaults(s *spec.Schema) {
	for name, p := range s.Properties {
		dropItemDefaults(&p)
		s.Properties[name] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		s.Items.Schema.Default = nil
		dropItemDefaults(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		s.AdditionalProperties.Schema.Default = nil
		dropItemDefaults(s.AdditionalProperties.Schema)
	}
}

func write(file string, v any) error {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(z).Encode(v); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, buf.Bytes(), 0o644)
}
