package core

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/api/show"
)

// componentStatuses asks the components of a control plane, where they are on
// this machine, how they are.
type componentStatuses struct {
	health func(context.Context) error
}

func (c componentStatuses) resource() *rest.Resource {
	return &rest.Resource{
		New:         func() runtime.Object { return &corev1.ComponentStatus{} },
		NewList:     func() runtime.Object { return &corev1.ComponentStatusList{} },
		ShortNames:  []string{"cs"},
		Deprecation: "v1 ComponentStatus is deprecated in v1.19+", FieldLabel: kind.ConvertMetadataLabel,
		Get: c.get, List: c.list, ConvertToTable: componentTable,
	}
}

// components are where kube-scheduler and kube-controller-manager serve their health.
var components = []struct{ name, url string }{
	{"scheduler", "https://127.0.0.1:10259/healthz"},
	{"controller-manager", "https://127.0.0.1:10257/healthz"},
}

const storageComponent = "etcd-0"

func (c componentStatuses) get(ctx context.Context, r rest.GetRequest) (runtime.Object, error) {
	if r.Name == storageComponent {
		return c.storage(ctx), nil
	}
	for _, k := range components {
		if k.name == r.Name {
			return probe(ctx, k.name, k.url), nil
		}
	}
	return nil, apierrors.NewNotFound(groupResource("componentstatus"), r.Name)
}

func (c componentStatuses) list(ctx context.Context, opts *metainternalversion.ListOptions) (runtime.Object, error) {
	list := &corev1.ComponentStatusList{}
	all := make([]*corev1.ComponentStatus, 0, len(components)+1)
	for _, k := range components {
		all = append(all, probe(ctx, k.name, k.url))
	}
	for _, s := range append(all, c.storage(ctx)) {
		if opts != nil && opts.FieldSelector != nil && !opts.FieldSelector.Matches(nameSet(s.Name)) {
			continue
		}
		if opts != nil && opts.LabelSelector != nil && !opts.LabelSelector.Matches(labels.Set(nil)) {
			continue
		}
		list.Items = append(list.Items, *s)
	}
	return list, nil
}

func (c componentStatuses) storage(ctx context.Context) *corev1.ComponentStatus {
	if c.health != nil {
		if err := c.health(ctx); err != nil {
			return componentStatus(storageComponent, corev1.ConditionFalse, err.Error())
		}
	}
	return componentStatus(storageComponent, corev1.ConditionTrue, "ok")
}

// localClient asks a component of this machine, whose certificate is self-signed.
var localClient = &http.Client{
	Timeout:   2 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
}

func probe(ctx context.Context, name, url string) *corev1.ComponentStatus {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return componentStatus(name, corev1.ConditionUnknown, err.Error())
	}
	resp, err := localClient.Do(r)
	if err != nil {
		return componentStatus(name, corev1.ConditionFalse, err.Error())
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 10<<10))
	if resp.StatusCode != http.StatusOK {
		return componentStatus(name, corev1.ConditionFalse, fmt.Sprintf("unexpected http status code: %d", resp.StatusCode))
	}
	return componentStatus(name, corev1.ConditionTrue, string(body))
}

func componentStatus(name string, status corev1.ConditionStatus, message string) *corev1.ComponentStatus {
	return &corev1.ComponentStatus{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Conditions: []corev1.ComponentCondition{{Type: corev1.ComponentHealthy, Status: status, Message: message}},
	}
}

func componentTable(_ context.Context, obj runtime.Object, opts *metav1.TableOptions) (*metav1.Table, error) {
	t := &metav1.Table{}
	if opts == nil || !opts.NoHeaders {
		name := show.Name()
		t.ColumnDefinitions = []metav1.TableColumnDefinition{
			{Name: name.Name, Type: name.Type, Format: name.Format, Description: name.Description},
			{Name: "Status", Type: "string", Description: "Status of the component conditions"},
			{Name: "Message", Type: "string", Description: "Message of the component conditions"},
			{Name: "Error", Type: "string", Description: "Error of the component conditions"},
		}
	}
	switch o := obj.(type) {
	case *corev1.ComponentStatus:
		t.Rows = append(t.Rows, componentRow(o))
	case *corev1.ComponentStatusList:
		for i := range o.Items {
			t.Rows = append(t.Rows, componentRow(&o.Items[i]))
		}
	}
	return t, nil
}

func componentRow(s *corev1.ComponentStatus) metav1.TableRow {
	status, message, problem := "Unknown", "", ""
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == corev1.ComponentHealthy {
			status, message, problem = "Unhealthy", c.Message, c.Error
			if c.Status == corev1.ConditionTrue {
				status = "Healthy"
			}
		}
	}
	return metav1.TableRow{Cells: []any{s.Name, status, message, problem}, Object: runtime.RawExtension{Object: s}}
}
