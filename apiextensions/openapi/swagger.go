package openapi

import (
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// pathV2 says in OpenAPI v2 what a path says in v3.
func pathV2(p *spec3.Path) spec.PathItem {
	var out spec.PathItem
	for _, param := range p.Parameters {
		out.Parameters = append(out.Parameters, parameterV2(param))
	}
	out.Get, out.Put, out.Post = operationV2(p.Get), operationV2(p.Put), operationV2(p.Post)
	out.Delete, out.Patch = operationV2(p.Delete), operationV2(p.Patch)
	return out
}

func operationV2(o *spec3.Operation) *spec.Operation {
	if o == nil {
		return nil
	}
	out := &spec.Operation{
		VendorExtensible: o.VendorExtensible,
		OperationProps: spec.OperationProps{
			ID: o.OperationId, Description: o.Description, Tags: o.Tags, Schemes: []string{"https"},
			Produces: mediaTypes, Consumes: mediaTypes, Responses: responsesV2(o.Responses),
		},
	}
	if o.RequestBody != nil {
		out.Consumes = slices.Sorted(maps.Keys(o.RequestBody.Content))
		out.Parameters = append(out.Parameters, spec.Parameter{ParamProps: spec.ParamProps{
			Name: "body", In: "body", Required: o.RequestBody.Required, Schema: schemaOf(o.RequestBody.Content),
		}})
	}
	for _, param := range o.Parameters {
		out.Parameters = append(out.Parameters, parameterV2(param))
	}
	return out
}

func responsesV2(r *spec3.Responses) *spec.Responses {
	out := &spec.Responses{ResponsesProps: spec.ResponsesProps{StatusCodeResponses: map[int]spec.Response{}}}
	for code, response := range r.StatusCodeResponses {
		out.StatusCodeResponses[code] = spec.Response{ResponseProps: spec.ResponseProps{
			Description: response.Description, Schema: schemaOf(response.Content),
		}}
	}
	return out
}

// schemaOf is the schema of a content, which is the same in all media types.
func schemaOf(content map[string]*spec3.MediaType) *spec.Schema {
	for _, m := range content {
		return m.Schema
	}
	return nil
}

func parameterV2(p *spec3.Parameter) spec.Parameter {
	return spec.Parameter{
		CommonValidations: spec.CommonValidations{UniqueItems: p.Schema.UniqueItems},
		SimpleSchema:      spec.SimpleSchema{Type: p.Schema.Type[0]},
		ParamProps:        spec.ParamProps{Name: p.Name, In: p.In, Description: p.Description, Required: p.Required},
	}
}
