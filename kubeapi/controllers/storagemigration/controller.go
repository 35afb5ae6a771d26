package storagemigration

import (
	"context"
	"strconv"
	"time"

	migrationv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1client "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	serviceAccount = "storage-version-migrator-controller"
	// patience is how long a migration waits for its resource to be served.
	patience = time.Minute
	// pollInterval is the interval at which it checks.
	pollInterval = 2 * time.Second
)

// Reasons of conditions in kube-controller-manager.
const (
	running   = "MigrationRunning"
	completed = "MigrationCompleted"
	succeeded = "StorageVersionMigrationSucceeded"
	failed    = "StorageVersionMigrationFailed"
)

type migration = migrationv1.StorageVersionMigration

type controller struct {
	env         *control.Env
	migrations  dynamic.Interface
	definitions apiextensionsv1client.CustomResourceDefinitionInterface
	objects     metadata.Interface
	queue       *control.Queue[string]
}

// New returns the controller.
func New(e *control.Env) (worker.Runner, error) {
	config := e.As(serviceAccount)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	definitions, err := apiextensionsv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, migrations: client, definitions: definitions.CustomResourceDefinitions(), objects: objects}
	c.queue = control.NewQueue(e, "storage_version_migrator", 1, c.sync)
	e.Feed.On(group.StorageVersionMigrations(e.Stores).Resource(), func(o *control.Object) {
		if !o.Deleted() {
			c.queue.Add(o.Name)
		}
	})
	return c.queue, nil
}

// sync runs a migration.
func (c *controller) sync(ctx context.Context, name string) error {
	m, err := group.StorageVersionMigrations(c.env.Stores).GetCached(control.Reading(ctx), "", name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || m.DeletionTimestamp != nil || hasEnded(m) {
		return err
	}
	r, wrong := c.find(m)
	switch {
	case wrong == "":
	case r == nil && time.Since(m.CreationTimestamp.Time) < patience:
		c.queue.AddAfter(name, pollInterval)
		return nil
	default:
		return c.end(ctx, m, wrong)
	}
	if m, err = c.begin(ctx, m, r); err != nil {
		return err
	}
	version, err := strconv.ParseInt(m.Status.ResourceVersion, 10, 64)
	if err != nil {
		return c.end(ctx, m, err.Error())
	}
	rejected, err := c.rewrite(ctx, r, version)
	if err != nil {
		return err
	}
	if _, served := c.env.Resources.Find(r.GroupResource()); !served {
		return control.Later("%s is not served any more", r.GroupResource())
	}
	if err := c.settleDefinition(ctx, m, rejected == nil); err != nil {
		return err
	}
	return c.end(ctx, m, rejected.message())
}

func hasEnded(m *migration) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, string(migrationv1.MigrationSucceeded)) ||
		meta.IsStatusConditionTrue(m.Status.Conditions, string(migrationv1.MigrationFailed))
}

// find returns the resource to migrate, or the reason why it cannot be migrated; nil if it is not served yet.
func (c *controller) find(m *migration) (r *control.Resource, wrong string) {
	gr := schema.GroupResource{Group: m.Spec.Resource.Group, Resource: m.Spec.Resource.Resource}
	found, ok := c.env.Resources.Find(gr)
	switch {
	case !ok:
		return nil, "the resource " + gr.String() + " is not served"
	case found.External:
		return &found, "the resource " + gr.String() +
			" is stored by another API server, whose resource versions are independent"
	case !found.Can("list", "patch"):
		return &found, "the resource " + gr.String() + " has no verbs list and patch"
	}
	return &found, ""
}

// begin records in the status the revision from which objects need no rewrite.
func (c *controller) begin(ctx context.Context, m *migration, r *control.Resource) (*migration, error) {
	if m.Status.ResourceVersion != "" {
		return m, nil
	}
	if err := c.announce(ctx, m); err != nil {
		return nil, err
	}
	revision, err := c.env.Resources.Revision(ctx, r.GroupResource())
	if err != nil {
		return nil, err
	}
	m.Status.ResourceVersion = strconv.FormatInt(revision, 10)
	set(m, migrationv1.MigrationRunning, metav1.ConditionTrue, running, "The migration is running")
	return c.updateStatus(ctx, m)
}

// updateStatus writes the status of a migration in the version that is served.
func (c *controller) updateStatus(ctx context.Context, m *migration) (*migration, error) {
	resource := group.StorageVersionMigrations(c.env.Stores).Resource()
	served, ok := c.env.Resources.Find(resource)
	if !ok {
		return nil, control.Later("%s is not served", resource)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(served.GroupVersion().WithKind(served.Kind))
	if u, err = c.migrations.Resource(served.GroupVersionResource).UpdateStatus(ctx, u,
		metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	updated := &migration{}
	return updated, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, updated)
}

// end records the success of the migration, or its failure.
func (c *controller) end(ctx context.Context, m *migration, wrong string) error {
	kind, reason := migrationv1.MigrationSucceeded, succeeded
	if wrong != "" {
		kind, reason = migrationv1.MigrationFailed, failed
	}
	set(m, migrationv1.MigrationRunning, metav1.ConditionFalse, completed, "Migration completed")
	set(m, kind, metav1.ConditionTrue, reason, wrong)
	_, err := c.updateStatus(ctx, m)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func set(m *migration, kind migrationv1.MigrationConditionType, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{
		Type: string(kind), Status: status, Reason: reason, Message: message, ObservedGeneration: m.Generation,
	})
}
