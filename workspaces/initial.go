package workspaces

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/klog/v2"
)

const (
	// initialManager is the field manager of initial objects, and initialUser applies them.
	initialManager = "triplane-workspaces"
	initialUser    = "system:workspaces:initial"
	// initialWithin is how long an object is retried before the failure is reported: its kind may be that of a
	// CustomResourceDefinition before it.
	initialWithin = 10 * time.Second
	initialPoll   = 50 * time.Millisecond
	// All objects are applied again after initialRetry, and then twice as long each time, until initialLast.
	initialRetry, initialLast = time.Second, time.Minute
	// maxInitial limits the number of initial objects.
	maxInitial = 1000
)

// Reasons of the condition Ready.
const (
	served        = "Served"
	initializing  = "Initializing"
	initialFailed = "InitialObjectsFailed"
)

// isInitial reports whether the initial objects of a workspace are to be applied.
func isInitial(w *Workspace) bool {
	return w.begins() && !meta.IsStatusConditionTrue(w.Status.Conditions, Ready) &&
		w.DeletionTimestamp == nil && !w.Spec.Suspended
}

// begins reports whether a new workspace begins with objects.
func (w *Workspace) begins() bool { return len(w.Spec.Initial) > 0 || w.Spec.Template != nil }

// initialObjects decodes the initial objects.
func initialObjects(w *Workspace) ([]*unstructured.Unstructured, field.ErrorList) {
	at := field.NewPath("spec", "initial")
	var objects []*unstructured.Unstructured
	var errs field.ErrorList
	if n := len(w.Spec.Initial); n > maxInitial {
		return nil, field.ErrorList{field.TooMany(at, n, maxInitial)}
	}
	for i := range w.Spec.Initial {
		at, o := at.Index(i), &unstructured.Unstructured{}
		if err := json.Unmarshal(w.Spec.Initial[i].Raw, &o.Object); err != nil || o.Object == nil {
			errs = append(errs, field.Invalid(at, string(w.Spec.Initial[i].Raw), "must be an object"))
			continue
		}
		for name, value := range map[string]string{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind()} {
			if value == "" {
				errs = append(errs, field.Required(at.Child(name), ""))
			}
		}
		if o.GetName() == "" {
			errs = append(errs, field.Required(at.Child("metadata", "name"), "generateName is not supported"))
		}
		objects = append(objects, o)
	}
	return objects, errs
}

// initialize applies the initial objects of a workspace and sets its condition Ready, until it succeeds.
func (m *Manager) initialize(ctx context.Context, e *entry) {
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		e.initializing = false
	}()
	for delay := initialRetry; ctx.Err() == nil; delay = min(2*delay, initialLast) {
		w, _, err := m.stored(ctx, e.name)
		if err == nil && (w == nil || w.UID != e.uid || !isInitial(w)) {
			return
		}
		if err == nil {
			err = m.applyInitial(ctx, w)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			klog.InfoS("Failed to apply the initial objects of a workspace, will retry", "workspace", e.name, "err", err)
		}
		if reported := m.reportInitial(asServer(ctx), e, err); err == nil && reported == nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
	}
}

// reportInitial sets the condition Ready after the initial objects were applied, or could not be.
func (m *Manager) reportInitial(ctx context.Context, e *entry, failure error) error {
	c := metav1.Condition{Type: Ready, Status: metav1.ConditionTrue, Reason: served}
	if failure != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, initialFailed, failure.Error()
	}
	return m.setCondition(ctx, e.name, e.uid, c)
}

// applyInitial copies the template, and applies the initial objects in their order, by server-side apply.
func (m *Manager) applyInitial(ctx context.Context, w *Workspace) error {
	objects, invalid := initialObjects(w)
	if len(invalid) > 0 {
		return invalid.ToAggregate()
	}
	select {
	case m.beginnings <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-m.beginnings }()
	i, err := m.acquire(ctx, w.Name)
	if err != nil {
		return err
	}
	defer m.release(i)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer i.onStop(cancel)()
	if w.Spec.Template != nil {
		if err := m.copyTemplate(ctx, w, i); err != nil {
			return err
		}
	}
	config := i.initialConfig()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
	for n, o := range objects {
		if err := applyWithin(ctx, client, mapper, o); err != nil {
			return fmt.Errorf("spec.initial[%d]: %s %s: %w", n, o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// applyWithin applies an object. It retries for a short time while its kind is not served, or after a conflict.
func applyWithin(ctx context.Context, client dynamic.Interface, mapper meta.ResettableRESTMapper,
	o *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, initialWithin)
	defer cancel()
	for {
		err := apply(ctx, client, mapper, o)
		if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) &&
			!apierrors.IsServiceUnavailable(err) {
			return err
		}
		mapper.Reset()
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(initialPoll):
		}
	}
}

func apply(ctx context.Context, client dynamic.Interface, mapper meta.RESTMapper, o *unstructured.Unstructured) error {
	gvk := o.GroupVersionKind()
	found, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	var objects dynamic.ResourceInterface = client.Resource(found.Resource)
	if found.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := o.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		objects = client.Resource(found.Resource).Namespace(namespace)
	}
	_, err = objects.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: initialManager, Force: true})
	return err
}
