package openapi

import (
	"bytes"
	"testing"

	"github.com/emicklei/go-restful/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"triplane.dev/generic/api/openapi/models"
)

const configMapModel = "io.k8s.api.core.v1.ConfigMap"

// swaggerOf is the document of what f adds to routes that read and replace a ConfigMap.
func swaggerOf(t *testing.T, f func(*Draft)) *spec.Swagger {
	t.Helper()
	ws := new(restful.WebService).Path("/api/v1").Produces("application/json")
	name := ws.PathParameter("name", "name of the ConfigMap")
	pretty, dryRun := ws.QueryParameter("pretty", "for humans"), ws.QueryParameter("dryRun", "nothing is kept")
	nothing := func(*restful.Request, *restful.Response) {}
	ws.Route(ws.GET("/configmaps/{name}").To(nothing).Operation("read").Param(name).Param(pretty).Writes(corev1.ConfigMap{}))
	ws.Route(ws.PUT("/configmaps/{name}").To(nothing).Operation("replace").Param(name).Param(pretty).Param(dryRun).
		Reads(corev1.ConfigMap{}).Writes(corev1.ConfigMap{}))
	d := newDraft(true)
	if err := NewBuilder(&models.Source{}, scheme.Scheme, "1.36").write(d, []WebService{served(ws)}, everyVersion); err != nil {
		t.Fatal(err)
	}
	d.settled = true
	f(d)
	var text bytes.Buffer
	if err := d.finish("").json.writeTo(&text); err != nil {
		t.Fatal(err)
	}
	doc := &spec.Swagger{}
	if err := doc.UnmarshalJSON(text.Bytes()); err != nil {
		t.Fatalf("%v: %s", err, text.Bytes())
	}
	return doc
}

// TestParameters has operations share what they take: with the path, or with all that take the same.
func TestParameters(t *testing.T) {
	doc := swaggerOf(t, func(d *Draft) {
		d.Path("/apis/example.com/v1/oaks", []Parameter{{Name: "leaves", In: "query", Type: "string"}},
			Operation{Method: "get", Parameters: []Parameter{{Name: "pretty", In: "query", Type: "string", Doc: "for humans"}}})
	})
	item := doc.Paths.Paths["/api/v1/configmaps/{name}"]
	const pretty = "#/parameters/pretty-"
	if p := item.Parameters; len(p) != 2 || p[0].Name != "name" || len(p[1].Ref.String()) != len(pretty)+8 {
		t.Errorf("parameters of the path: %+v", p)
	}
	if p := item.Put.Parameters; len(p) != 2 || p[0].Schema.Ref.String() != refsV2+configMapModel || p[1].Name != "dryRun" || len(item.Get.Parameters) != 0 {
		t.Errorf("parameters of the operations: %+v and %+v", p, item.Get.Parameters)
	}
	oaks := doc.Paths.Paths["/apis/example.com/v1/oaks"]
	if oaks.Parameters[0].Name != "leaves" || oaks.Get.Parameters[0].Ref.String() != item.Parameters[1].Ref.String() {
		t.Errorf("parameters of what was added: %+v and %+v", oaks.Parameters, oaks.Get.Parameters)
	}
	if len(doc.Parameters) != 1 {
		t.Errorf("shared are %v", doc.Parameters)
	}
}

// TestFree has built-in models keep their names.
func TestFree(t *testing.T) {
	swaggerOf(t, func(d *Draft) {
		for name, want := range map[string]string{configMapModel: configMapModel + "_v2", "com.example.v1.Oak": "com.example.v1.Oak"} {
			if got := d.Free(name); got != want {
				t.Errorf("%s is called %s", name, got)
			}
		}
	})
}

// TestMergeRenames joins documents that mean something else by the same names.
func TestMergeRenames(t *testing.T) {
	other := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}}
	remote := func(path string) *spec.Swagger {
		op := &spec.Operation{OperationProps: spec.OperationProps{Responses: &spec.Responses{ResponsesProps: spec.ResponsesProps{
			StatusCodeResponses: map[int]spec.Response{200: {ResponseProps: spec.ResponseProps{Schema: spec.RefSchema(refsV2 + configMapModel)}}},
		}}}}
		return &spec.Swagger{SwaggerProps: spec.SwaggerProps{
			Definitions: spec.Definitions{configMapModel: other},
			Paths:       &spec.Paths{Paths: map[string]spec.PathItem{path: {PathItemProps: spec.PathItemProps{Get: op}}}},
		}}
	}
	doc := swaggerOf(t, func(d *Draft) {
		for _, path := range []string{"/apis/a", "/apis/b", "/api/v1/configmaps/{name}"} {
			if err := d.Merge(remote(path)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if own, renamed := doc.Definitions[configMapModel], doc.Definitions[configMapModel+"_v2"]; !own.Type.Contains("object") || !renamed.Type.Contains("string") {
		t.Errorf("own %v, of the other server %v", own.Type, renamed.Type)
	}
	for _, path := range []string{"/apis/a", "/apis/b"} {
		if ref := doc.Paths.Paths[path].Get.Responses.StatusCodeResponses[200].Schema.Ref.String(); ref != refsV2+configMapModel+"_v2" {
			t.Errorf("%s refers to %s", path, ref)
		}
	}
	if doc.Paths.Paths["/api/v1/configmaps/{name}"].Put == nil {
		t.Error("a path of the server was replaced")
	}
}
