//go:build generate

// Command openapi writes the OpenAPI models of the built-in kinds: JSON, by
// model name, gzipped. See generate.sh.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"log"
	"os"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"triplane/hack/openapi/models"
)

// model is one entry; generic/openapi/models reads it. References are written as
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
		out[name] = m
	}
	if err := write(os.Args[1], out); err != nil {
		log.Fatal(err)
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
