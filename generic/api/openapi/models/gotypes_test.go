package models

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type shade string

type branch struct {
	Name string   `json:"name"`
	Subs []branch `json:"subs,omitempty"`
}

// oak has a field of each form.
type oak struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Shade             shade                `json:"shade,omitempty" doc:"How dark it is below."`
	Height            int32                `json:"height"`
	Alive             *bool                `json:"alive"`
	Branches          []branch             `json:"branches,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Birds             []string             `json:"birds,omitempty" listType:"set"`
	Marks             map[string]string    `json:"marks,omitempty"`
	Bark              []byte               `json:"bark,omitempty"`
	Ports             []corev1.ServicePort `json:"ports,omitempty"`
	Felled            *metav1.Time         `json:"felled,omitempty"`
	Other             any                  `json:"other,omitempty"`
	Odd               struct {
		Float float64 `json:"float,omitempty"`
	} `json:"odd,omitzero"`
	hidden  int
	Ignored chan int `json:"-"`
}

func (oak) OpenAPIModelName() string { return "example.Oak" }

func TestDescribe(t *testing.T) {
	s := &Source{}
	if err := s.Describe(&oak{hidden: 1}); err != nil {
		t.Fatal(err)
	}
	m, err := s.Models()
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := m.Schemas("#/", "example.Oak")
	if err != nil {
		t.Fatal(err)
	}
	got := definitions["example.Oak"]
	if strings.Join(got.Required, " ") != "height alive" {
		t.Errorf("required are %v", got.Required)
	}
	const branches = "#/dev.triplane.generic.api.openapi.models.branch"
	for name, want := range map[string]string{
		"kind": `"type":"string"`, "metadata": `{"default":{},"$ref":"#/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}`,
		"shade": `{"description":"How dark it is below.","type":"string"}`, "height": `{"type":"integer","format":"int32","default":0}`, "alive": `{"type":"boolean"}`,
		"branches": `{"type":"array","items":{"$ref":"` + branches + `"},"x-kubernetes-list-map-keys":["name"],"x-kubernetes-list-type":"map","x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy":"merge"}`,
		"birds":    `{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"}`,
		"marks":    `{"type":"object","additionalProperties":{"type":"string"}}`, "bark": `{"type":"string","format":"byte"}`,
		"ports": `"$ref":"#/io.k8s.api.core.v1.ServicePort"`, "felled": `{"$ref":"#/io.k8s.apimachinery.pkg.apis.meta.v1.Time"}`,
		"other": `{"x-kubernetes-preserve-unknown-fields":true}`, "odd": `{"type":"object","default":{},"properties":{"float":{"type":"number","format":"double"}}}`,
	} {
		text, err := json.Marshal(got.Properties[name])
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s is %s, want %s", name, text, want)
		}
	}
	if n := len(got.Properties); n != 14 {
		t.Errorf("%d properties", n)
	}
	if _, ok := definitions["io.k8s.api.core.v1.ServicePort"]; !ok {
		t.Error("what the type refers to is missing")
	}
}

func TestDescribeRefuses(t *testing.T) {
	for want, sample := range map[string]any{
		"f: a func() cannot be described": &struct {
			F func() `json:"f"`
		}{},
		"f: the keys of map[int]string are no strings": &struct {
			F map[int]string `json:"f"`
		}{},
	} {
		if err := (&Source{}).Describe(sample); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
