// Package schema knows what the OpenAPI schema of a CustomResourceDefinition
// means for its objects.
//
// A Schema is the structural skeleton of an apiextensions.k8s.io/v1
// JSONSchemaProps: the types, properties and items that every value must have a
// place in, with the extensions of Kubernetes resolved. From it come:
//
//   - Check, the rules that make a schema structural;
//   - Prune and DropNulls, which remove what has no place;
//   - Default, which fills in what is missing;
//   - Validator, which validates values (types, formats, limits, combinators);
//   - ValidateLists, the uniqueness of sets and maps;
//   - CoerceMetadata and ValidateMetadata, for the object's own metadata and
//     that of embedded resources.
//
// Values are JSON as k8s.io/apimachinery decodes it: map[string]any, []any,
// string, int64, float64, bool, nil. Functions that change a value do so in
// place. A Schema and a Validator are immutable and safe for concurrent use.
package schema
