package controllers

import (
	"context"
	"errors"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"triplane.dev/apiextensions/validation"
)

// finalize deletes the objects of a CRD that is being deleted, in a goroutine of
// its own.
func (c *Controller) finalize(crd definition) {
	for len(c.finished) > 0 {
		delete(c.deleting, <-c.finished)
	}
	if crd.DeletionTimestamp == nil || c.deleting[crd.UID] ||
		!slices.Contains(crd.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
		return
	}
	c.deleting[crd.UID] = true
	name, uid := crd.Name, crd.UID
	c.Go(func(ctx context.Context) {
		c.cleanUp(ctx, name, uid)
		select {
		case c.finished <- uid:
		case <-ctx.Done():
		}
	})
}

// cleanUp deletes the objects, waits until they are gone, and lets the CRD go.
// It tries again after errors, less and less often.
func (c *Controller) cleanUp(ctx context.Context, name string, uid types.UID) {
	for wait := 10 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 30*time.Second) {
		done, err := c.tryCleanUp(ctx, name, uid)
		if done {
			return
		}
		if err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "The objects of a deleted custom resource definition cannot be removed yet",
				"name", name)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

func (c *Controller) tryCleanUp(ctx context.Context, name string, uid types.UID) (done bool, err error) {
	crd, err := c.update(ctx, name, uid, func(crd definition) {
		SetCondition(crd, terminating(apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress",
			"CustomResource deletion is in progress"))
	})
	if err != nil || crd == nil {
		return crd == nil && err == nil, err
	}
	deleted, err := c.deleteInstances(ctx, crd)
	if err != nil {
		return false, err
	}
	_, err = c.update(ctx, name, uid, func(crd definition) {
		SetCondition(crd, deleted)
		crd.Finalizers = slices.DeleteFunc(slices.Clone(crd.Finalizers), func(f string) bool {
			return f == apiextensionsv1.CustomResourceCleanupFinalizer
		})
	})
	return err == nil, err
}

// deleteInstances deletes the objects of a CRD, if there can be any, and returns how
// that ended.
func (c *Controller) deleteInstances(ctx context.Context,
	crd definition) (apiextensionsv1.CustomResourceDefinitionCondition, error) {
	switch {
	case !validation.IsTrue(crd, apiextensionsv1.Established):
		return terminating(apiextensionsv1.ConditionFalse, "NeverEstablished", "resource was never established"), nil
	case overlapsBuiltIn(crd):
		return terminating(apiextensionsv1.ConditionFalse, "OverlappingBuiltInResource",
			"instances overlap with built-in resources in storage"), nil
	}
	return terminating(apiextensionsv1.ConditionFalse, "InstanceDeletionCompleted", "removed all instances"),
		c.DeleteInstances(ctx, crd)
}

// overlapsBuiltIn reports whether the objects of a CRD would be stored where
// those of a built-in resource do: of two that have their group in their keys.
func overlapsBuiltIn(crd definition) bool {
	switch crd.Name {
	case "apiservices.apiregistration.k8s.io", "customresourcedefinitions.apiextensions.k8s.io":
		return true
	}
	return false
}

// errNotWaiting says that a CRD does not wait for its objects to be deleted.
var errNotWaiting = errors.New("the definition is not being deleted")

// update changes a CRD that still waits for its objects; nil means that it does
// not.
func (c *Controller) update(ctx context.Context, name string, uid types.UID,
	change func(definition)) (definition, error) {
	crd, err := c.Write(ctx, name, func(crd definition) error {
		if crd.UID != uid || crd.DeletionTimestamp == nil ||
			!slices.Contains(crd.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
			return errNotWaiting
		}
		change(crd)
		return nil
	})
	if errors.Is(err, errNotWaiting) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	return crd, err
}

func terminating(status apiextensionsv1.ConditionStatus, reason,
	message string) apiextensionsv1.CustomResourceDefinitionCondition {
	return apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: status, Reason: reason, Message: message,
	}
}
