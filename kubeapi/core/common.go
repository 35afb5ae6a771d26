package core

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func groupResource(plural string) schema.GroupResource { return schema.GroupResource{Resource: plural} }

// immutableFlag validates the immutable field of config maps and secrets, and what
// it protects. protected says of each field whether it is unchanged, order is that
// of the errors.
func immutableFlag(now, before *bool, protected map[string]bool, order ...string) field.ErrorList {
	const msg = "field is immutable when `immutable` is set"
	if before == nil || !*before {
		return nil
	}
	var errs field.ErrorList
	if now == nil || !*now {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), msg))
	}
	for _, name := range order {
		if !protected[name] {
			errs = append(errs, field.Forbidden(field.NewPath(name), msg))
		}
	}
	return errs
}

// configKey validates a key of a config map or secret.
func configKey(key string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range utilvalidation.IsConfigMapKey(key) {
		errs = append(errs, field.Invalid(path.Key(key), key, msg))
	}
	return errs
}

// accessModes shows access modes in kubectl's short form.
func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	short := []struct {
		mode corev1.PersistentVolumeAccessMode
		text string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"},
		{corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"},
	}
	have := sets.New(modes...)
	var out []string
	for _, s := range short {
		if have.Has(s.mode) {
			out = append(out, s.text)
		}
	}
	return strings.Join(out, ",")
}

// standardFinalizers are the names that need no domain.
var standardFinalizers = sets.New("kubernetes", "orphan", "foregroundDeletion")

// finalizerName validates an element of a finalizer list.
func finalizerName(name string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range utilvalidation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(path, name, msg))
	}
	if !strings.Contains(name, "/") && !standardFinalizers.Has(name) {
		errs = append(errs, field.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified"))
	}
	return errs
}

func now() *metav1.Time {
	t := metav1.Now().Rfc3339Copy()
	return &t
}

// nameSet is what field selectors see of an object of which they know the name
// alone.
func nameSet(name string) fields.Set { return fields.Set{"metadata.name": name} }
