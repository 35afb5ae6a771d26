package customresource

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	structural "triplane.dev/apiextensions/schema"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/wire"
)

// versionCodec is how the objects of one version travel. Objects of the hub are in
// the storage version.
type versionCodec struct{ version *Version }

var _ rest.Codec = (*versionCodec)(nil)

// conversionTimeout bounds conversions by webhook that no request's context
// bounds.
const conversionTimeout = 30 * time.Second

func (c *versionCodec) Kind() schema.GroupVersionKind { return c.version.gvk }

func (c *versionCodec) New() runtime.Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(c.version.gvk)
	return u
}

// Supports reports JSON, YAML and CBOR: protobuf needs compiled types.
func (c *versionCodec) Supports(mt wire.MediaType) bool { return mt != wire.Protobuf }

func (c *versionCodec) Decode(body []byte, mt wire.MediaType,
	strict bool) (runtime.Object, *schema.GroupVersionKind, []error, error) {
	content, strictErrs, err := parse(body, mt, strict)
	if err != nil {
		kind, err := unreadable(body, mt, err)
		return nil, kind, nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	kind := u.GroupVersionKind()
	if kind.Kind == "" || kind.Version == "" {
		if err := checkHead(body, mt, u); err != nil {
			as := schema.GroupVersionKind{}
			if !strict && runtime.IsMissingKind(err) {
				as = c.version.gvk // where no fields are named, this is what the body should have been
			}
			return nil, &as, nil, err
		}
	}
	unknown, err := structural.CoerceRoot(content, strict)
	if err != nil {
		return nil, &kind, nil, err
	}
	if kind.GroupKind() == c.version.gvk.GroupKind() {
		of, err := c.schemaOf(kind.Version)
		if err != nil {
			return nil, &kind, nil, err
		}
		unknown = append(unknown, structural.Prune(content, of, strict)...)
		structural.DropNulls(content, of)
		embedded, err := structural.CoerceEmbedded(content, of, strict)
		if err != nil {
			return nil, &kind, nil, err
		}
		unknown = append(unknown, embedded...)
	}
	for _, path := range unknown {
		strictErrs = append(strictErrs, fmt.Errorf("unknown field %q", path))
	}
	return u, &kind, strictErrs, nil
}

// unreadable returns the kind that a body names which cannot be parsed as a
// whole.
func unreadable(body []byte, mt wire.MediaType, err error) (*schema.GroupVersionKind, error) {
	if mt == wire.CBOR || mt == wire.Protobuf {
		return nil, err
	}
	if mt == wire.YAML {
		converted, yamlErr := yaml.YAMLToJSON(body)
		if yamlErr != nil {
			return nil, yamlErr
		}
		body = converted
	}
	var meta struct {
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
	}
	if metaErr := json.Unmarshal(body, &meta); metaErr != nil {
		return nil, fmt.Errorf("couldn't get version/kind; json parse error: %w", metaErr)
	}
	kind := schema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind)
	return &kind, err
}

// checkHead returns why the kind of a body that was parsed is not known. An
// apiVersion that is not there is none of the reasons: it is another version.
func checkHead(body []byte, mt wire.MediaType, u *unstructured.Unstructured) error {
	if _, err := unreadable(body, mt, nil); err != nil {
		return err
	}
	if _, err := schema.ParseGroupVersion(u.GetAPIVersion()); err != nil {
		return err
	}
	if u.GetKind() == "" {
		return runtime.NewMissingKindErr(string(body))
	}
	return nil
}

// schemaOf is the schema of the body's own version, which may be another one
// than the codec's. Nothing is known of a version that there is not.
func (c *versionCodec) schemaOf(version string) (*structural.Schema, error) {
	v := c.version.definition.versions[version]
	if v == nil {
		return &structural.Schema{}, nil
	}
	if v != c.version {
		if other, err := v.skeleton(); err == nil {
			return other, nil
		}
	}
	return c.version.skeleton()
}

// parse reads a body into generic JSON. What is there twice is in strictErrs.
func parse(body []byte, mt wire.MediaType, strict bool) (content map[string]any, strictErrs []error, err error) {
	switch mt {
	case wire.YAML:
		var duplicate error
		if body, duplicate, err = wire.YAMLToJSON(body, strict); err != nil {
			return nil, nil, err
		}
		if duplicate != nil {
			strictErrs = append(strictErrs, duplicate)
		}
		if err = wire.CheckDepth(body); err != nil {
			return nil, nil, err
		}
		err = kjson.UnmarshalCaseSensitivePreserveInts(body, &content)
	case wire.JSON:
		if err = wire.CheckDepth(body); err != nil {
			return nil, nil, err
		}
		if strict {
			strictErrs, err = kjson.UnmarshalStrict(body, &content)
		} else {
			err = kjson.UnmarshalCaseSensitivePreserveInts(body, &content)
		}
	case wire.CBOR:
		err = wire.UnmarshalCBOR(body, &content)
	default:
		err = fmt.Errorf("custom resources have no protobuf form")
	}
	if err != nil {
		return nil, nil, err
	}
	if content == nil {
		content = map[string]any{}
	}
	return content, strictErrs, nil
}

func (c *versionCodec) Default(obj runtime.Object) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	// What server-side apply merged has the metadata as the client wrote it. What
	// is wrong with it stays, and is found by validation.
	_, _ = structural.CoerceRoot(u.Object, false)
	if s, err := c.version.skeleton(); err == nil { // otherwise the object is not written
		complete(u.Object, s)
	}
}

// complete adds the defaults of a schema, and brings what they add to the metadata of embedded resources into the form
// of ObjectMeta.
func complete(content map[string]any, s *structural.Schema) {
	structural.Default(content, s)
	_, _ = structural.CoerceEmbedded(content, s, false) // what is of a wrong type stays, and is found by validation
}

// ToHub brings an object into the storage version. What that has no place for
// is left, so that validation sees what the client sent; it goes away when the
// object is stored.
func (c *versionCodec) ToHub(obj runtime.Object) (runtime.Object, error) {
	return c.convert(obj, c.version.definition.storage)
}

func (c *versionCodec) FromHub(obj runtime.Object) (runtime.Object, error) {
	to := c.version
	if to == to.definition.storage {
		return obj, nil
	}
	if u, ok := obj.(*unstructured.Unstructured); ok && isBookmark(u) {
		u = u.DeepCopy()
		u.SetAPIVersion(to.gvk.GroupVersion().String())
		return u, nil
	}
	skeleton, err := to.skeleton()
	if err != nil {
		return nil, err
	}
	out, err := c.FromHubUnpruned(obj)
	if err != nil {
		return nil, err
	}
	if u, ok := out.(*unstructured.Unstructured); ok {
		fit(u.Object, skeleton)
	}
	return out, nil
}

// FromHubUnpruned is FromHub without the removal of fields that the version does not have.
func (c *versionCodec) FromHubUnpruned(obj runtime.Object) (runtime.Object, error) {
	// The copy is because conversion shares parts.
	return c.convert(obj.DeepCopyObject(), c.version)
}

// isBookmark reports whether an object is that of a watch's bookmark, which has a resource
// version and is nothing that was stored. A webhook that converts it may drop its annotation,
// by which clients know that they have the initial events.
func isBookmark(u *unstructured.Unstructured) bool {
	return u.GetResourceVersion() != "" && u.GetUID() == "" && u.GetName() == ""
}

// fit removes what a schema has no place for. Defaults are those of the version
// that an object was stored in, not of versions that it is converted to.
func fit(content map[string]any, s *structural.Schema) {
	structural.Prune(content, s, false)
	structural.DropNulls(content, s)
}

func (c *versionCodec) convert(obj runtime.Object, to *Version) (runtime.Object, error) {
	gv := to.gvk.GroupVersion()
	switch x := obj.(type) {
	case *unstructured.Unstructured:
		if x.GroupVersionKind().GroupVersion() == gv {
			return x, nil
		}
		out, err := c.convertAll([]*unstructured.Unstructured{x}, to)
		if err != nil {
			return nil, err
		}
		return out[0], nil
	case *unstructured.UnstructuredList:
		return c.convertList(x, to)
	}
	return nil, fmt.Errorf("%T is no custom resource", obj)
}

func (c *versionCodec) convertList(list *unstructured.UnstructuredList, to *Version) (runtime.Object, error) {
	objs := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		objs[i] = &list.Items[i]
	}
	out, err := c.convertAll(objs, to)
	if err != nil {
		return nil, err
	}
	converted := &unstructured.UnstructuredList{Object: list.Object, Items: make([]unstructured.Unstructured, len(out))}
	for i := range out {
		converted.Items[i] = *out[i]
	}
	converted.SetAPIVersion(to.gvk.GroupVersion().String())
	return converted, nil
}

func (c *versionCodec) convertAll(objs []*unstructured.Unstructured,
	to *Version) ([]*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(context.Background(), conversionTimeout)
	defer cancel()
	out, err := to.definition.converter.Convert(ctx, objs, to.gvk.GroupVersion())
	if err != nil {
		return nil, &rest.ConversionError{Err: err}
	}
	if len(out) != len(objs) {
		return nil, fmt.Errorf("conversion of %d objects to %s returned %d", len(objs), to.gvk, len(out))
	}
	return out, nil
}

func (c *versionCodec) Encode(dst []byte, obj runtime.Object, mt wire.MediaType) ([]byte, error) {
	var content map[string]any
	switch x := obj.(type) {
	case *unstructured.Unstructured:
		content = x.Object
	case *unstructured.UnstructuredList:
		content = x.UnstructuredContent()
	default:
		return nil, fmt.Errorf("%T is no custom resource", obj)
	}
	switch mt {
	case wire.JSON:
		return wire.AppendJSON(dst, content)
	case wire.YAML:
		b, err := yaml.Marshal(content)
		return append(dst, bytes.TrimSuffix(b, []byte("\n"))...), err
	case wire.CBOR:
		return wire.AppendCBOR(dst, content)
	}
	return nil, fmt.Errorf("custom resources have no protobuf form")
}
