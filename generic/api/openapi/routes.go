package openapi

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/kube-openapi/pkg/util"

	"triplane.dev/generic/storage/wire"
)

// writeRoutes writes the paths of a web service.
func writeRoutes(d *Draft, ws *WebService) error {
	byPath := map[string][]restful.Route{}
	for _, r := range ws.Routes() {
		byPath[r.Path] = append(byPath[r.Path], r)
	}
	all, err := parameters(ws.Parameters, nil)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		if err := writePath(d, path, all, byPath[path]); err != nil {
			return fmt.Errorf("OpenAPI of %s: %w", path, err)
		}
	}
	return nil
}

// writePath writes what routes of one path do, with their parameters and those of all. What each of them takes
// belongs to the path, but for bodies.
func writePath(d *Draft, path string, all []Parameter, routes []restful.Route) error {
	type key struct{ name, in string }
	counts := map[key]int{}
	operations := make([]Operation, len(routes))
	for i := range routes {
		op, err := operationOf(&routes[i])
		if err != nil {
			return err
		}
		for _, p := range op.Parameters {
			if p.In != inBody {
				counts[key{p.Name, p.In}]++
			}
		}
		operations[i] = op
	}
	common := func(p Parameter) bool { return counts[key{p.Name, p.In}] == len(routes) }
	all = slices.Clone(all)
	for i := range operations {
		op := &operations[i]
		if i == len(operations)-1 {
			all = append(all, slices.DeleteFunc(slices.Clone(op.Parameters), func(p Parameter) bool { return !common(p) })...)
		}
		op.Parameters = slices.DeleteFunc(op.Parameters, common)
	}
	// OpenAPI has no word for a parameter that is the rest of the path.
	if before, ok := strings.CutSuffix(path, ":*}"); ok {
		path = before + "}"
	}
	d.Path(path, all, operations...)
	return nil
}

func operationOf(r *restful.Route) (op Operation, err error) {
	op = Operation{
		Method: strings.ToLower(r.Method), ID: r.Operation, Tag: tag(r.Path), Doc: r.Doc, Consumes: r.Consumes,
		Produces: r.Produces,
	}
	if op.Parameters, err = parameters(r.ParameterDocs, r.ReadSample); err != nil {
		return op, err
	}
	for _, e := range r.ResponseErrors {
		op.Responses = append(op.Responses, Response{e.Code, e.Message, util.GetCanonicalTypeName(e.Model)})
	}
	slices.SortFunc(op.Responses, func(a, b Response) int { return cmp.Compare(a.Code, b.Code) })
	if len(op.Responses) == 0 && r.WriteSample != nil {
		op.Responses = []Response{{http.StatusOK, "OK", util.GetCanonicalTypeName(r.WriteSample)}}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Metadata)) {
		if !strings.HasPrefix(name, "x-") {
			continue
		}
		text, err := wire.AppendJSON(nil, r.Metadata[name])
		if err != nil {
			return op, err
		}
		op.Extensions = append(op.Extensions, Member{name, text})
	}
	return op, nil
}

// places are where parameters are, by restful's kinds of them.
var places = map[int]string{
	restful.PathParameterKind: "path", restful.QueryParameterKind: "query", restful.HeaderParameterKind: "header",
	restful.BodyParameterKind: inBody,
}

// parameters returns what is documented; sample is of the body's type.
func parameters(documented []*restful.Parameter, sample any) ([]Parameter, error) {
	out := make([]Parameter, 0, len(documented))
	for _, of := range documented {
		data := of.Data()
		p := Parameter{
			Name: data.Name, In: places[of.Kind()], Doc: data.Description, Required: data.Required, Repeated: data.AllowMultiple,
			Type: data.DataType,
		}
		switch {
		case p.In == "":
			return nil, fmt.Errorf("parameter %s is in no known place", p.Name)
		case p.In == inBody && sample == nil:
			return nil, fmt.Errorf("it is not known of which type the body is")
		case p.In == inBody:
			p.Type, p.Repeated, p.Model = "", false, util.GetCanonicalTypeName(sample)
		}
		out = append(out, p)
	}
	return out, nil
}
