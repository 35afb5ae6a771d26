package handlers

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage/object"
	"triplane.dev/generic/storage/wire"
)

// readBody reads a body up to the scope's limit; a larger one is a 413 status.
func (s *RequestScope) readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	limit := s.MaxRequestBodyBytes
	if limit <= 0 {
		limit = DefaultMaxRequestBodyBytes
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	var b bytes.Buffer
	if r.ContentLength > 0 {
		// One byte more, or the buffer grows to find the end. What is announced beyond this is allocated as it arrives.
		b.Grow(int(min(r.ContentLength, firstRead)) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(r.Body, limit+1))
	if err != nil {
		var max *http.MaxBytesError
		if errors.As(err, &max) {
			return nil, tooLarge(limit)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, apierrors.NewTimeoutError("the request's body did not arrive in time", 0)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return nil, err
	}
	if n > limit {
		return nil, tooLarge(limit)
	}
	return b.Bytes(), nil
}

// firstRead is the room in bytes that a body gets before any of it is there: that of most objects.
const firstRead = 32 << 10

func tooLarge(limit int64) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", limit))
}

// fieldValidation is what happens about unknown and duplicate fields; clients that do not say are warned.
func fieldValidation(directive string) string {
	if directive == "" {
		return metav1.FieldValidationWarn
	}
	return directive
}

// decode parses a body into an object of the hub version, which it returns also as it was before
// its conversion. An object without a Go type that is of another kind than the resource's keeps
// it: what refuses it comes after what is wrong with the request.
func (s *RequestScope) decode(r *http.Request, body []byte, mt wire.MediaType,
	directive string) (hub, sent runtime.Object, err error) {
	directive = fieldValidation(directive)
	strict := directive != metav1.FieldValidationIgnore
	obj, kind, strictErrs, err := s.Codec.Decode(body, mt, strict)
	former := s.isFormer(kind, err)
	if former && strict {
		obj, strictErrs = decodeFormer(body, mt, *kind)
	} else if err == nil {
		// Of a kind with a Go type, nothing is said about fields that is not there.
		err = s.checkKind(obj, kind)
	}
	if err != nil && !former {
		return nil, nil, s.decodeError(err, kind, body)
	}
	if len(strictErrs) > 0 {
		if directive == metav1.FieldValidationStrict {
			return nil, nil, s.strictError(strictErrs, obj, kind, body)
		}
		warnStrict(r, strictErrs)
	}
	if former || kind != nil && !s.accepts(kind.GroupVersion()) {
		return nil, nil, s.otherVersion(kind.GroupVersion())
	}
	// What a client writes as "/v1" is v1 all the same.
	s.setKind(obj, kind)
	s.Codec.Default(obj)
	if hub, err = s.Codec.ToHub(obj); err == nil {
		return hub, obj, nil
	}
	if object.Typed(obj) {
		err = s.decodeError(err, kind, body)
	}
	return nil, nil, err
}

// setKind makes a decoded object one of the version that the scope serves. Without a
// Go type it stays of the kind that it was sent as.
func (s *RequestScope) setKind(obj runtime.Object, sent *schema.GroupVersionKind) {
	kind := s.Kind
	if sent != nil && s.untyped(obj) {
		kind.Kind = sent.Kind
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
}

// untyped reports whether an object's kind is no more than a word in it.
func (s *RequestScope) untyped(obj runtime.Object) bool {
	return !object.Typed(obj) && s.Subresource != "scale"
}

// accepts reports whether a body may be of a version.
func (s *RequestScope) accepts(gv schema.GroupVersion) bool {
	return gv == s.Kind.GroupVersion() || s.Storage.AcceptsVersion(gv)
}

func (s *RequestScope) otherVersion(gv schema.GroupVersion) error {
	return apierrors.NewBadRequest(fmt.Sprintf(
		"the API version in the data (%s) does not match the expected API version (%s)",
		gv, s.Kind.GroupVersion()))
}

// checkKind refuses an object with a Go type of another kind than the resource's.
func (s *RequestScope) checkKind(obj runtime.Object, kind *schema.GroupVersionKind) error {
	if s.untyped(obj) || kind == nil || kind.GroupKind() == s.Kind.GroupKind() || *kind == s.Hub {
		return nil
	}
	return fmt.Errorf("converting (%s) to (%s): unknown conversion", versionedGoName(*kind), s.GoName())
}

// misnamed is the error of an object without a Go type that is to be created as another kind than the resource's.
func (s *RequestScope) misnamed(obj runtime.Object) error {
	kind := obj.GetObjectKind().GroupVersionKind()
	if !s.untyped(obj) || kind.Kind == s.Kind.Kind {
		return nil
	}
	name := ""
	if m, err := meta.Accessor(obj); err == nil {
		name = m.GetName()
	}
	return apierrors.NewInvalid(kind.GroupKind(), name, field.ErrorList{
		field.Invalid(field.NewPath("kind"), kind.Kind, "must be "+s.Kind.Kind)})
}

// otherUntypedVersion reports whether a patch moved an object without a Go type to a
// version that is neither the request's nor that of storage.
func (s *RequestScope) otherUntypedVersion(obj runtime.Object, kind *schema.GroupVersionKind) bool {
	return s.untyped(obj) && kind != nil && kind.GroupVersion() != s.Kind.GroupVersion() &&
		kind.GroupVersion() != s.Hub.GroupVersion()
}

// versionedGoName is how messages call the Go type of a served version.
func versionedGoName(kind schema.GroupVersionKind) string { return kind.Version + "." + kind.Kind }

// decodeError is the 400 status for a body that cannot be read as the kind.
func (s *RequestScope) decodeError(err error, kind *schema.GroupVersionKind, body []byte) error {
	if _, ok := err.(apierrors.APIStatus); ok {
		return err
	}
	if kind != nil && kind.Kind != "" {
		if s.isFormer(kind, err) {
			return s.otherVersion(kind.GroupVersion())
		}
		if runtime.IsNotRegisteredError(err) && s.SchemeName == "" && clientscheme.Scheme.Recognizes(*kind) {
			err = fmt.Errorf("converting (%s) to (%s): unknown conversion", versionedGoName(*kind), s.GoName())
		}
		if runtime.IsNotRegisteredError(err) {
			err = runtime.NewNotRegisteredErrForKind(s.schemeName(), *kind)
		}
		return cannotBeHandled(*kind, s.Kind.Kind, err)
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)",
		s.Kind.Kind, err, summary(body)))
}

// isFormer reports whether decoding failed because the kind is a version that was served once, which kube-apiserver
// can still read.
func (s *RequestScope) isFormer(kind *schema.GroupVersionKind, err error) bool {
	return runtime.IsNotRegisteredError(err) && s.SchemeName == "" && kind != nil && kind.Kind == s.Kind.Kind &&
		(kind.Group == s.Kind.Group || kind.Group == "extensions") && clientscheme.Scheme.Recognizes(*kind)
}

// decodeFormer returns the object of a former version, and the errors of fields that are unknown, or there twice.
func decodeFormer(body []byte, mt wire.MediaType, kind schema.GroupVersionKind) (runtime.Object, []error) {
	obj, err := clientscheme.Scheme.New(kind)
	if err == nil && mt == wire.YAML {
		body, err = yaml.YAMLToJSON(body)
	}
	if err != nil || mt == wire.Protobuf || mt == wire.CBOR {
		return obj, nil
	}
	strictErrs, _ := kjson.UnmarshalStrict(body, obj) // an error changes nothing: the version is not accepted
	return obj, strictErrs
}

// strictError is the 400 status for fields that are unknown, or there twice. An object
// without a Go type is read as what it says.
func (s *RequestScope) strictError(errs []error, obj runtime.Object, kind *schema.GroupVersionKind, body []byte) error {
	err := runtime.NewStrictDecodingError(errs)
	if s.untyped(obj) && kind != nil {
		return cannotBeHandled(*kind, kind.Kind, err)
	}
	return s.decodeError(err, kind, body)
}

func cannotBeHandled(kind schema.GroupVersionKind, as string, err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind.Kind,
		kind.Version, as, err))
}

// builtinScheme is what kube-apiserver calls the scheme of the built-in kinds.
const builtinScheme = "pkg/runtime/scheme.go:111"

func (s *RequestScope) schemeName() string {
	if s.SchemeName == "" {
		return builtinScheme
	}
	return s.SchemeName
}

// summary is the beginning of a body, in hexadecimal unless it looks like JSON.
func summary(body []byte) string {
	const most = 30
	if len(body) == 0 {
		return "<empty>"
	}
	text := func(b []byte) string { return hex.EncodeToString(b) }
	if body[0] == '{' {
		text = func(b []byte) string { return string(b) }
	}
	if len(body) > most {
		return text(body[:most]) + " ..."
	}
	return text(body)
}

// warnStrict warns the client about unknown and duplicate fields. A YAML parser
// reports several in one error, a line each.
func warnStrict(r *http.Request, errs []error) {
	for _, err := range errs {
		for _, line := range splitYAMLErrors(err.Error()) {
			request.AddWarning(r.Context(), line)
		}
	}
}

func splitYAMLErrors(text string) []string {
	lines := bytes.Split([]byte(text), []byte("\n"))
	if len(lines) < 2 || !bytes.HasSuffix(lines[0], []byte("yaml: unmarshal errors:")) {
		return []string{text}
	}
	var out []string
	for _, l := range lines[1:] {
		if l = bytes.TrimSpace(l); len(l) > 0 {
			out = append(out, string(l))
		}
	}
	return out
}
