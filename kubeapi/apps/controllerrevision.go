package apps

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

func controllerRevisionKind() kind.Kind[*appsv1.ControllerRevision] {
	type revision = *appsv1.ControllerRevision
	return kind.Kind[revision]{
		Namespaced:     true,
		Representation: kind.Typed[revision]{Former: kind.SameFields[revision](appsBeta2, appsBeta1)},
		Write: kind.Write[revision]{
			Validate:                 validateRevision,
			AllowUnconditionalUpdate: kind.Always,
		},
		Columns: show.Columns(
			show.Cell("Controller", "Controller of the object", controllerName),
			show.AsText(show.Path("revision"))),
	}
}

func validateRevision(_ context.Context, r, old *appsv1.ControllerRevision) field.ErrorList {
	errs := check.NonNegative(r.Revision, field.NewPath("revision"))
	if old != nil {
		if !bytes.Equal(compact(r.Data.Raw), compact(old.Data.Raw)) {
			errs = append(errs, field.Invalid(field.NewPath("data"), rawValue(r.Data.Raw), check.ImmutableMsg))
		}
		return errs
	}
	if data := bytes.TrimSpace(r.Data.Raw); len(data) == 0 || bytes.Equal(data, []byte("null")) {
		errs = append(errs, field.Required(field.NewPath("data"), "data is mandatory"))
	} else if data[0] != '{' || !json.Valid(data) {
		errs = append(errs, field.Required(field.NewPath("data"), "data must be a valid JSON object"))
	}
	return errs
}

// compact makes two spellings of the same document comparable.
func compact(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

func rawValue(raw []byte) json.RawMessage { return json.RawMessage(compact(raw)) }

func controllerName(r *appsv1.ControllerRevision) string {
	owner := metav1.GetControllerOf(r)
	if owner == nil {
		return "<none>"
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return "<none>"
	}
	kind := strings.ToLower(owner.Kind)
	if gv.Group != "" {
		kind += "." + gv.Group
	}
	return fmt.Sprintf("%s/%s", kind, owner.Name)
}
