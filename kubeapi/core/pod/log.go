package pod

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/kubelet"
)

// logResource serves "pods/log".
type logResource struct {
	pods     *registry.Store[pod]
	stores   *group.Stores
	kubelets *kubelet.Client
	// streams says that one of a container's two may be asked for alone.
	streams bool
}

func (l logResource) resource() *rest.Resource {
	return &rest.Resource{
		New:        func() runtime.Object { return &corev1.Pod{} },
		NewOptions: func() runtime.Object { return &corev1.PodLogOptions{} },
		Get:        l.get, NoTable: true,
		MediaTypes: []string{"text/plain"}, Sample: "", // a log is a text, no Pod
	}
}

func (l logResource) get(ctx context.Context, r rest.GetRequest) (runtime.Object, error) {
	o, ok := r.Query.(*corev1.PodLogOptions)
	if !ok {
		return nil, fmt.Errorf("unexpected options %T", r.Query)
	}
	if errs := validateLogOptions(o, l.streams); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("PodLogOptions").GroupKind(), r.Name, errs)
	}
	p, err := l.pods.Read(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	container, err := containerOf(p, o.Container, "log")
	if err != nil {
		return nil, err
	}
	if p.Spec.NodeName == "" {
		return noLog{}, nil
	}
	n, err := nodeOf(ctx, l.stores, p.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	location, err := l.kubelets.URL(n, "/containerLogs/"+p.Namespace+"/"+p.Name+"/"+container, logQuery(o))
	if err != nil {
		return nil, err
	}
	return &kubelet.Log{Client: l.kubelets, Location: location, Insecure: o.InsecureSkipTLSVerifyBackend, Follow: o.Follow,
		Pod: r.Name}, nil
}

// logQuery says what part of a log is wanted.
func logQuery(o *corev1.PodLogOptions) url.Values {
	query := url.Values{}
	for name, on := range map[string]bool{"follow": o.Follow, "previous": o.Previous, "timestamps": o.Timestamps} {
		if on {
			query.Set(name, "true")
		}
	}
	for name, n := range map[string]*int64{"sinceSeconds": o.SinceSeconds, "tailLines": o.TailLines,
		"limitBytes": o.LimitBytes} {
		if n != nil {
			query.Set(name, strconv.FormatInt(*n, 10))
		}
	}
	if o.SinceTime != nil {
		query.Set("sinceTime", o.SinceTime.Format(time.RFC3339))
	}
	return query
}

func validateLogOptions(o *corev1.PodLogOptions, streams bool) field.ErrorList {
	var errs field.ErrorList
	if o.TailLines != nil && *o.TailLines < 0 {
		errs = append(errs, field.Invalid(field.NewPath("tailLines"), *o.TailLines, "must be greater than or equal to 0"))
	}
	if o.LimitBytes != nil && *o.LimitBytes < 1 {
		errs = append(errs, field.Invalid(field.NewPath("limitBytes"), *o.LimitBytes, "must be greater than 0"))
	}
	switch {
	case o.SinceSeconds != nil && o.SinceTime != nil:
		errs = append(errs, field.Forbidden(field.NewPath(""),
			"at most one of `sinceTime` or `sinceSeconds` may be specified"))
	case o.SinceSeconds != nil && *o.SinceSeconds < 1:
		errs = append(errs, field.Invalid(field.NewPath("sinceSeconds"), *o.SinceSeconds, "must be greater than 0"))
	}
	return append(errs, validateLogStream(o, streams)...)
}

// validateLogStream validates which of a container's streams is asked for; streams
// says that it may be one alone.
func validateLogStream(o *corev1.PodLogOptions, streams bool) field.ErrorList {
	path := field.NewPath("stream")
	switch {
	case o.Stream == nil:
		return nil
	case !streams:
		return field.ErrorList{field.Forbidden(path, "may not be specified")}
	case *o.Stream == corev1.LogStreamAll:
		return nil
	case *o.Stream != corev1.LogStreamStdout && *o.Stream != corev1.LogStreamStderr:
		return field.ErrorList{field.NotSupported(path, *o.Stream, []string{corev1.LogStreamAll, corev1.LogStreamStdout,
			corev1.LogStreamStderr})}
	case o.TailLines != nil:
		return field.ErrorList{field.Forbidden(field.NewPath(""),
			"`tailLines` and specific `stream` are mutually exclusive for now")}
	}
	return nil
}

// noLog is the log of a pod that no node has yet.
type noLog struct{}

func (noLog) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

func (n noLog) DeepCopyObject() runtime.Object { return n }

// InputStream implements rest.Streamer.
func (noLog) InputStream(context.Context, string, string) (io.ReadCloser, bool, string, error) {
	return nil, false, "text/plain", nil
}
