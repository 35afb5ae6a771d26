package transfer

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
)

// Import creates the objects of source on a server, or replaces existing ones. source is a file, a directory, or
// "-" for in. It reports rejected objects to progress and imports the others; the error has the number of rejected
// objects.
func Import(ctx context.Context, config *restclient.Config, source string, in io.Reader, progress io.Writer) error {
	objects, err := readAll(source, in)
	if err != nil {
		return err
	}
	s, err := connect(config)
	if err != nil {
		return err
	}
	i := newImporter(s, progress)
	if err := i.sorted(ctx, objects); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(progress, "%d objects were imported: %d created, %d replaced\n", i.created+i.replaced,
		i.created, i.replaced)
	return i.rejected(len(objects))
}

func newImporter(s *server, progress io.Writer) *importer {
	return &importer{server: s, progress: progress, uids: map[string]string{}, coming: map[string]bool{}}
}

// sorted imports objects in the order of their dependencies.
func (i *importer) sorted(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if uid := string(o.GetUID()); uid != "" { // objects of other origin have none
			i.coming[uid] = true
		}
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return i.all(ctx, objects)
}

// rejected returns an error if not all objects were imported.
func (i *importer) rejected(all int) error {
	if i.failed > 0 {
		return fmt.Errorf("%d of %d objects were not imported", i.failed, all)
	}
	return nil
}

var definitions = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// rank orders objects by kind: lower ranks are imported first. Objects that others depend on come first, and those
// that affect writes of others last.
func rank(o *unstructured.Unstructured) int {
	switch kind := o.GroupVersionKind().GroupKind(); {
	case kind == schema.GroupKind{Kind: "Namespace"}:
		return 0
	case kind == definitions:
		return 1
	case kind.Group == "scheduling.k8s.io", kind.Group == "networking.k8s.io" && kind.Kind == "ServiceCIDR",
		kind.Group == "rbac.authorization.k8s.io", kind == schema.GroupKind{Kind: "ServiceAccount"}:
		return 2
	case kind == schema.GroupKind{Kind: "PersistentVolume"}:
		return 4 // refer to uids of claims
	case kind == schema.GroupKind{Kind: "ResourceQuota"}, kind == schema.GroupKind{Kind: "LimitRange"}:
		return 5
	case kind.Group == "admissionregistration.k8s.io", kind.Group == "apiregistration.k8s.io",
		kind.Group == "flowcontrol.apiserver.k8s.io":
		return 6
	}
	return 3
}

type importer struct {
	*server
	served   map[schema.GroupVersionKind]resource
	progress io.Writer
	uids     map[string]string // new uids by old ones, of imported objects
	coming   map[string]bool   // old uids of objects that are not imported yet
	finished func(count int)   // called after each object; nil does nothing

	created, replaced, failed int
}

// all imports objects in order, dependents after their owners.
func (i *importer) all(ctx context.Context, objects []*unstructured.Unstructured) (err error) {
	groups := map[string]bool{} // of definitions
	for _, o := range objects {
		if o.GroupVersionKind().GroupKind() == definitions {
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			groups[group] = true
		}
	}
	first := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return rank(o) > 1 })
	if first < 0 {
		first = len(objects)
	}
	if i.served, err = i.server.served(); err != nil {
		return err
	}
	for _, o := range objects[:first] {
		i.one(ctx, o)
	}
	if err := i.awaitServed(ctx, objects[first:], groups); err != nil {
		return err
	}
	for waiting := objects[first:]; len(waiting) > 0; {
		var later []*unstructured.Unstructured
		for _, o := range waiting {
			if err := ctx.Err(); err != nil {
				return err
			}
			if i.waits(o) {
				later = append(later, o)
			} else {
				i.one(ctx, o)
			}
		}
		if len(later) == len(waiting) { // their ownership is circular
			for _, o := range later {
				i.one(ctx, o)
			}
			break
		}
		waiting = later
	}
	return nil
}

// servedWithin bounds the wait for the resources of definitions.
const servedWithin = 30 * time.Second

// awaitServed returns when all kinds of the groups are served, or after a timeout; then the objects of missing
// kinds are reported as rejected.
func (i *importer) awaitServed(
	ctx context.Context, objects []*unstructured.Unstructured, groups map[string]bool,
) (err error) {
	ctx, cancel := context.WithTimeout(ctx, servedWithin)
	defer cancel()
	for {
		if i.served, err = i.server.served(); err != nil {
			return err
		}
		missing := func(o *unstructured.Unstructured) bool {
			_, is := i.served[o.GroupVersionKind()]
			return groups[o.GroupVersionKind().Group] && !is
		}
		if !slices.ContainsFunc(objects, missing) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// waits reports whether an owner is not imported yet.
func (i *importer) waits(o *unstructured.Unstructured) bool {
	for _, owner := range o.GetOwnerReferences() {
		if uid := string(owner.UID); i.coming[uid] && i.uids[uid] == "" {
			return true
		}
	}
	return false
}

// one imports an object, or reports why it failed.
func (i *importer) one(ctx context.Context, o *unstructured.Unstructured) {
	old := string(o.GetUID())
	made, err := i.write(ctx, o)
	delete(i.coming, old) // dependents need not wait any longer
	if i.finished != nil {
		i.finished(i.created + i.replaced + i.failed)
	}
	if err != nil {
		i.failed++
		_, _ = fmt.Fprintf(i.progress, "%s %s: %v\n", o.GetKind(), named(o), err)
		return
	}
	if old != "" {
		i.uids[old] = string(made.GetUID())
	}
}

func named(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}

// write creates or replaces an object, with its status.
func (i *importer) write(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	r, is := i.served[o.GroupVersionKind()]
	if !is {
		return nil, fmt.Errorf("the server does not serve %s", o.GroupVersionKind())
	}
	var client dynamic.ResourceInterface = i.objects.Resource(r.GroupVersionResource)
	if r.namespaced {
		client = i.objects.Resource(r.GroupVersionResource).Namespace(o.GetNamespace())
	}
	i.prepare(o)
	create := metav1.CreateOptions{FieldValidation: metav1.FieldValidationIgnore}
	made, err := client.Create(ctx, o, create)
	if addressTaken(o, err) {
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIPs")
		made, err = client.Create(ctx, o, create)
	}
	switch {
	case err == nil:
		i.created++
	case apierrors.IsAlreadyExists(err):
		if made, err = i.replace(ctx, client, o); err != nil {
			return nil, err
		}
		i.replaced++
	default:
		return nil, err
	}
	status, has := o.Object["status"]
	if !has || !r.status || o.GroupVersionKind().GroupKind() == definitions || r.String() == "namespaces" {
		return made, nil
	}
	if err := setStatus(ctx, client, made, status); err != nil {
		return nil, fmt.Errorf("its status: %w", err)
	}
	return made, nil
}

// setStatus updates the status of an object, and retries after conflicts.
func setStatus(
	ctx context.Context, client dynamic.ResourceInterface, made *unstructured.Unstructured, status any,
) error {
	for there := made; ; {
		there.Object["status"] = status
		_, err := client.UpdateStatus(ctx, there, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) || ctx.Err() != nil {
			return err
		}
		if there, err = client.Get(ctx, made.GetName(), metav1.GetOptions{}); err != nil {
			return err
		}
	}
}

func (i *importer) replace(
	ctx context.Context, client dynamic.ResourceInterface, o *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	for {
		there, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		o.SetResourceVersion(there.GetResourceVersion())
		made, err := client.Update(ctx, o, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationIgnore})
		if !apierrors.IsConflict(err) || ctx.Err() != nil {
			return made, err
		}
	}
}

// addressTaken reports whether a Service was rejected because its address is in use or outside the ranges.
func addressTaken(o *unstructured.Unstructured, err error) bool {
	ip, _, _ := unstructured.NestedString(o.Object, "spec", "clusterIP")
	return apierrors.IsInvalid(err) && o.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Service"} &&
		ip != "" && ip != "None"
}

// prepare replaces uids in an object by those of this server, and removes owners that were not imported.
func (i *importer) prepare(o *unstructured.Unstructured) {
	clean(o)
	unstructured.RemoveNestedField(o.Object, "metadata", "uid")
	var owners []metav1.OwnerReference
	for _, owner := range o.GetOwnerReferences() {
		if i.uids[string(owner.UID)] != "" {
			owners = append(owners, owner)
			continue
		}
		_, _ = fmt.Fprintf(i.progress, "%s %s: its owner, the %s %s, was not imported\n", o.GetKind(), named(o),
			owner.Kind, owner.Name)
	}
	o.SetOwnerReferences(owners)
	if o.GroupVersionKind().GroupKind() == (schema.GroupKind{Group: "batch", Kind: "Job"}) {
		resetJobSelector(o)
	}
	o.Object = i.replaceUIDs(o.Object).(map[string]any)
}

// resetJobSelector removes the generated selector and labels of a Job, unless they were set manually.
func resetJobSelector(o *unstructured.Unstructured) {
	if manual, _, _ := unstructured.NestedBool(o.Object, "spec", "manualSelector"); manual {
		return
	}
	unstructured.RemoveNestedField(o.Object, "spec", "selector")
	for _, label := range []string{"controller-uid", "batch.kubernetes.io/controller-uid"} {
		unstructured.RemoveNestedField(o.Object, "spec", "template", "metadata", "labels", label)
	}
}

// replaceUIDs replaces strings that are old uids by the new ones.
func (i *importer) replaceUIDs(value any) any {
	switch v := value.(type) {
	case string:
		if uid := i.uids[v]; uid != "" {
			return uid
		}
	case map[string]any:
		for key := range v {
			v[key] = i.replaceUIDs(v[key])
		}
	case []any:
		for n := range v {
			v[n] = i.replaceUIDs(v[n])
		}
	}
	return value
}
