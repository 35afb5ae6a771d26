package options

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Read fills the options of a write from the query and validates them; a
// status of 400 or 422 is the error.
func Read[T runtime.Object](req *http.Request, opts T, kind string,
	validate func(T) field.ErrorList) (T, error) {
	var none T
	if req.URL.RawQuery != "" {
		if err := Decode(req.URL.Query(), opts); err != nil {
			return none, err
		}
	}
	if errs := validate(opts); len(errs) > 0 {
		return none, Invalid(kind, errs)
	}
	opts.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(kind))
	return opts, nil
}

// Invalid is the 422 status about a request's options.
func Invalid(kind string, errs field.ErrorList) error {
	return apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind(kind).GroupKind(), "", errs)
}

// Decode fills an options object of meta.k8s.io from a query. Unknown
// parameters are ignored.
func Decode(query url.Values, into runtime.Object) error {
	if len(query) == 0 {
		return nil
	}
	if err := metainternalscheme.ParameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// DecodeSubresource fills the options object of a subresource (PodLogOptions) from a
// query, by the names of its JSON fields. Absent parameters leave fields alone.
func DecodeSubresource(query url.Values, into runtime.Object) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("%T cannot be filled from a query", into)
	}
	return decodeStruct(query, v.Elem())
}

func decodeStruct(query url.Values, v reflect.Value) error {
	t := v.Type()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if t.Field(i).Anonymous && name == "" {
			if t.Field(i).Type.Kind() == reflect.Struct && t.Field(i).Type != reflect.TypeFor[metav1.TypeMeta]() {
				if err := decodeStruct(query, v.Field(i)); err != nil {
					return err
				}
			}
			continue
		}
		if values, ok := query[name]; ok && len(values) > 0 && name != "" && name != "-" {
			if err := decodeField(values, v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func decodeField(values []string, f reflect.Value) error {
	if f.Kind() == reflect.Pointer {
		p := reflect.New(f.Type().Elem())
		if err := decodeField(values, p.Elem()); err != nil {
			return err
		}
		f.Set(p)
		return nil
	}
	if t, ok := f.Addr().Interface().(*metav1.Time); ok {
		return t.UnmarshalQueryParameter(values[0])
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(values[0])
	case reflect.Bool:
		// Only what clearly says no is no: a flag without value is set.
		f.SetBool(values[0] != "0" && !strings.EqualFold(values[0], "false"))
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(values[0], 10, f.Type().Bits())
		if err != nil {
			return err
		}
		f.SetInt(n)
	case reflect.Slice:
		return decodeSlice(values, f)
	}
	return nil
}

func decodeSlice(values []string, f reflect.Value) error {
	switch f.Type().Elem().Kind() {
	case reflect.Int32:
		return decodePorts(values, f)
	case reflect.String:
	default:
		return nil
	}
	out := reflect.MakeSlice(f.Type(), len(values), len(values))
	for i := range values {
		if err := decodeField(values[i:i+1], out.Index(i)); err != nil {
			return err
		}
	}
	f.Set(out)
	return nil
}

// decodePorts decodes a list of int32, which the API has in queries for ports only.
func decodePorts(values []string, f reflect.Value) error {
	out := reflect.MakeSlice(f.Type(), len(values), len(values))
	for i := range values {
		port, err := strconv.ParseUint(values[i], 10, 16)
		if err != nil {
			return fmt.Errorf("cannot convert to %s: %w", f.Type(), err)
		}
		out.Index(i).SetInt(int64(port))
	}
	f.Set(out)
	return nil
}
