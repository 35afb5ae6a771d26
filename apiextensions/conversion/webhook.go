package conversion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/base/tracing"
	"triplane.dev/generic/guard/webhook"
	"triplane.dev/generic/storage/wire"
)

// Webhook asks a webhook, with ConversionReview objects.
type Webhook struct {
	// Client posts to URL. Both are made from the CRD's client configuration.
	Client *http.Client
	URL    string
	// ReviewVersion is the version of ConversionReview that both sides know, "v1"
	// or "v1beta1".
	ReviewVersion string
	// CRD is the name of the definition, for Metrics, which may be nil.
	CRD     string
	Metrics *Metrics
}

const (
	timeout     = 30 * time.Second
	maxResponse = 128 << 20 // bytes; a list converts in one go
	maxMessage  = 2 << 10   // bytes of an answer that errors show
)

// review is a ConversionReview of either version, whose JSON is the same.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *apiextensionsv1.ConversionRequest  `json:"request,omitempty"`
	Response        *apiextensionsv1.ConversionResponse `json:"response,omitempty"`
}

// Convert implements Converter. Objects that are in the version already do not
// travel.
func (w *Webhook) Convert(ctx context.Context, objs []*unstructured.Unstructured,
	to schema.GroupVersion) ([]*unstructured.Unstructured, error) {
	out := append([]*unstructured.Unstructured(nil), objs...)
	var travel []int
	req := &apiextensionsv1.ConversionRequest{UID: uuid.NewUUID(), DesiredAPIVersion: to.String()}
	for i, o := range objs {
		if o.GetAPIVersion() != to.String() {
			travel = append(travel, i)
			req.Objects = append(req.Objects, runtime.RawExtension{Object: o})
		}
	}
	if len(travel) == 0 {
		return out, nil
	}
	from := objs[travel[0]].GroupVersionKind()
	start, what := time.Now(), callFailure
	defer func() { w.Metrics.observe(w.CRD, from.GroupVersion(), to, start, what) }()
	response, err := w.ask(ctx, req)
	var converted []runtime.RawExtension
	if err == nil {
		what = malformedFailure
		converted, err = response.objects(req, w.reviewVersion())
	}
	if err != nil {
		return nil, fmt.Errorf("conversion webhook for %v failed: %w", from, err)
	}
	if len(converted) != len(travel) {
		what = partialFailure
		return nil, fmt.Errorf("conversion webhook for %v returned %d objects, expected %d", from, len(converted),
			len(travel))
	}
	what = invalidFailure
	for n, i := range travel {
		if out[i], err = accept(objs[i], converted[n].Raw, n, to); err != nil {
			return nil, fmt.Errorf("conversion webhook for %v returned invalid %w", from, err)
		}
	}
	what = ""
	return out, nil
}

func (w *Webhook) reviewVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: apiextensionsv1.GroupName, Version: w.ReviewVersion}
}

// ask sends a request and returns the response.
func (w *Webhook) ask(ctx context.Context, req *apiextensionsv1.ConversionRequest) (*review, error) {
	body, err := json.Marshal(&review{
		TypeMeta: metav1.TypeMeta{Kind: "ConversionReview", APIVersion: w.reviewVersion().String()}, Request: req})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ctx, span := tracing.Start(ctx, "Call conversion webhook")
	defer span.End()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, */*")
	r.Header.Set("User-Agent", webhook.UserAgent)
	tracing.Inject(ctx, r.Header)
	resp, err := w.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxResponse {
		return nil, errors.New("the response is too large")
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, failed(resp, data)
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("0-length response with status code: %d and content type: %s", resp.StatusCode,
			resp.Header.Get("Content-Type"))
	}
	var answer review
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("invalid response: %w", err)
	}
	return &answer, nil
}

// failed is the error of an answer that is none, in the words of clients of the API.
func failed(resp *http.Response, body []byte) error {
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" && status.Status != metav1.StatusSuccess {
		return &apierrors.StatusError{ErrStatus: status}
	}
	message := "unknown"
	if mt, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); strings.HasPrefix(mt, "text/") {
		message = strings.TrimSpace(string(body[:min(len(body), maxMessage)]))
	}
	return apierrors.NewGenericServerResponse(resp.StatusCode, http.MethodPost, schema.GroupResource{}, "",
		message, 0, true)
}

// objects validates an answer and returns what was converted. Webhooks of v1beta1 need
// not say what they answer, but not something else either.
func (a *review) objects(req *apiextensionsv1.ConversionRequest,
	review schema.GroupVersion) ([]runtime.RawExtension, error) {
	strict := review.Version != "v1beta1"
	kind := review.WithKind("ConversionReview")
	switch {
	case !says(a.APIVersion, review.String(), strict), !says(a.Kind, kind.Kind, strict):
		return nil, fmt.Errorf("expected webhook response of %v, got %v", kind, a.GroupVersionKind())
	case a.Response == nil:
		return nil, errors.New("no response provided")
	case strict && a.Response.UID != req.UID:
		return nil, fmt.Errorf("expected response.uid=%q, got %q", req.UID, a.Response.UID)
	case a.Response.Result.Status == metav1.StatusSuccess:
		return a.Response.ConvertedObjects, nil
	case a.Response.Result.Message != "":
		return nil, errors.New(a.Response.Result.Message)
	}
	return nil, fmt.Errorf("response.result.status was '%s', not '%s'", a.Response.Result.Status, metav1.StatusSuccess)
}

// says reports whether an answer says what it must, or nothing where it may.
func says(is, must string, strict bool) bool { return is == must || is == "" && !strict }

// accept takes over a converted object, the index-th of its answer.
func accept(original *unstructured.Unstructured, raw []byte, index int,
	to schema.GroupVersion) (*unstructured.Unstructured, error) {
	converted, err := parse(raw, original.GetKind(), to)
	if err != nil {
		return nil, fmt.Errorf("object at index %d: %w", index, err)
	}
	if err := sameObject(original, converted); err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	if err := restoreMetadata(original, converted); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	return converted, nil
}

// parse reads a converted object, which has to be of the kind in the version to.
func parse(raw []byte, kind string, to schema.GroupVersion) (*unstructured.Unstructured, error) {
	if err := wire.CheckDepth(raw); err != nil {
		return nil, err
	}
	converted := &unstructured.Unstructured{}
	if err := converted.UnmarshalJSON(raw); err != nil {
		return nil, err
	}
	if got := converted.GroupVersionKind().GroupVersion(); got != to {
		return nil, fmt.Errorf("invalid groupVersion (expected %v, received %v)", to, got)
	}
	if converted.GetKind() != kind {
		return nil, fmt.Errorf("invalid kind (expected %v, received %v)", kind, converted.GetKind())
	}
	return converted, nil
}

// sameObject compares what says which object it is.
func sameObject(original, converted *unstructured.Unstructured) error {
	for _, same := range []struct{ name, want, got string }{
		{"name", original.GetName(), converted.GetName()},
		{"namespace", original.GetNamespace(), converted.GetNamespace()},
		{"UID", string(original.GetUID()), string(converted.GetUID())},
	} {
		if same.want != same.got {
			return fmt.Errorf("must have the same %s: %v != %v", same.name, same.want, same.got)
		}
	}
	return nil
}

// restoreMetadata puts back all metadata but labels and annotations, which are all that a
// webhook may change of it.
func restoreMetadata(original, converted *unstructured.Unstructured) error {
	labels, err := texts(converted, "labels")
	if err != nil {
		return err
	}
	annotations, err := texts(converted, "annotations")
	if err != nil {
		return err
	}
	meta, _ := original.Object["metadata"].(map[string]any)
	kept := maps.Clone(meta)
	if kept == nil {
		kept = map[string]any{}
	}
	delete(kept, "labels")
	delete(kept, "annotations")
	converted.Object["metadata"] = kept
	metadata := field.NewPath("metadata")
	if errs := metav1validation.ValidateLabels(labels, metadata.Child("labels")); len(errs) > 0 {
		return errs.ToAggregate()
	}
	converted.SetLabels(labels)
	if errs := validation.ValidateAnnotations(annotations, metadata.Child("annotations")); len(errs) > 0 {
		return errs.ToAggregate()
	}
	converted.SetAnnotations(annotations)
	return nil
}

// texts returns the labels or annotations of a converted object.
func texts(u *unstructured.Unstructured, name string) (map[string]string, error) {
	v, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", name)
	if v == nil {
		return nil, nil
	}
	values, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("invalid metadata.%s of type %T in converted object", name, v)
	}
	out := make(map[string]string, len(values))
	for k, v := range values {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("metadata.%s[%s] must be a string, but is %T in converted object", name, k, v)
		}
		out[k] = s
	}
	return out, nil
}
