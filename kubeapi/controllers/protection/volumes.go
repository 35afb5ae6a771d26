package protection

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const volumeFinalizer = "kubernetes.io/pv-protection"

type volumeController struct {
	env    *control.Env
	client corev1client.PersistentVolumeInterface
}

// NewVolumes returns the controller of volumes.
func NewVolumes(e *control.Env) (worker.Runner, error) {
	client, err := corev1client.NewForConfig(e.As("pv-protection-controller"))
	if err != nil {
		return nil, err
	}
	c := &volumeController{env: e, client: client.PersistentVolumes()}
	queue := control.NewQueue(e, "pvprotection", workers, c.sync)
	e.Feed.On(group.PersistentVolumes(e.Stores).Resource(), func(o *control.Object) {
		if !o.Deleted() {
			queue.Add(o.Name)
		}
	})
	return queue, nil
}

func (c *volumeController) sync(ctx context.Context, name string) error {
	v, err := group.PersistentVolumes(c.env.Stores).GetCached(control.Reading(ctx), "", name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	protected := slices.Contains(v.Finalizers, volumeFinalizer)
	switch deleting := v.DeletionTimestamp != nil; {
	case !deleting && !protected:
		v.Finalizers = append(v.Finalizers, volumeFinalizer)
	case deleting && protected && v.Status.Phase != corev1.VolumeBound:
		v.Finalizers = without(v.Finalizers, volumeFinalizer)
	default:
		return nil
	}
	_, err = c.client.Update(ctx, v, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
