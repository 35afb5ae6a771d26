package handlers

import (
	"context"
	"encoding/json"
	"regexp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/storage/wire"
)

// auditRequest records the object that a request carries, as the client sent it but for defaults.
func (s *RequestScope) auditRequest(ctx context.Context, obj runtime.Object) {
	rec := audit.RecordFrom(ctx)
	if rec == nil {
		return
	}
	if m, err := meta.Accessor(obj); err == nil {
		rec.Names(m)
	}
	if !rec.Records(audit.LevelRequest) {
		return
	}
	if doc, err := s.Encode(obj, wire.JSON); err == nil {
		rec.RequestObject(doc)
	}
}

// auditPatch records a patch, as JSON whatever it is written in.
func auditPatch(ctx context.Context, body []byte, kind types.PatchType) {
	rec := audit.RecordFrom(ctx)
	if !rec.Records(audit.LevelRequest) {
		return
	}
	switch {
	case kind == types.ApplyCBORPatchType:
		config, err := decodeApplyCBOR(body)
		if err != nil {
			return
		}
		if body, err = json.Marshal(config.Object); err != nil {
			return
		}
	case kind == types.ApplyYAMLPatchType && !json.Valid(body):
		doc, err := yaml.YAMLToJSON(body)
		if err != nil {
			return
		}
		body = doc
	}
	rec.RequestObject(body)
}

// auditDeleteOptions records the body of a deletion; kind is as the body says.
func auditDeleteOptions(ctx context.Context, opts *metav1.DeleteOptions, kind *schema.GroupVersionKind) {
	rec := audit.RecordFrom(ctx)
	if !rec.Records(audit.LevelRequest) {
		return
	}
	sent := *opts
	sent.Kind, sent.APIVersion = "DeleteOptions", "v1"
	if kind != nil {
		sent.APIVersion = kind.GroupVersion().String()
	}
	if doc, err := json.Marshal(&sent); err == nil {
		rec.RequestObject(doc)
	}
}

var unavailableIn = regexp.MustCompile(`unavailable in v([0-9]+\.[0-9]+)\+`)

// auditDeprecation records that the request is for something deprecated, and the
// release that has it no more, which the warning names.
func auditDeprecation(ctx context.Context, warning string) {
	rec := audit.RecordFrom(ctx)
	if rec == nil {
		return
	}
	rec.Annotate("k8s.io/deprecated", "true")
	if release := unavailableIn.FindStringSubmatch(warning); release != nil {
		rec.Annotate("k8s.io/removed-release", release[1])
	}
}
