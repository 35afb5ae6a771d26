package show

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"triplane/generic/registry"
)

// Documented is a k8s.io/api type that carries the documentation of its fields.
type Documented interface{ SwaggerDoc() map[string]string }

// Doc returns the documentation of a field by its JSON name.
func Doc(of Documented, name string) string { return of.SwaggerDoc()[name] }

// Name is the first column of nearly every table.
func Name() registry.Column {
	return registry.Column{Name: "Name", Type: "string", Format: "name", Description: Doc(metav1.ObjectMeta{}, "name")}
}

// Age is the column of the time since the object was created.
func Age() registry.Column { return Text("Age", Doc(metav1.ObjectMeta{}, "creationTimestamp")) }

// Text is a column of text.
func Text(name, description string) registry.Column {
	return registry.Column{Name: name, Type: "string", Description: description}
}

// Int is a column of whole numbers.
func Int(name, description string) registry.Column {
	return registry.Column{Name: name, Type: "integer", Description: description}
}

// Bool is a column of truth values.
func Bool(name, description string) registry.Column {
	return registry.Column{Name: name, Type: "boolean", Description: description}
}

// Wide makes a column one that "-o wide" alone shows.
func Wide(c registry.Column) registry.Column {
	c.Priority = 1
	return c
}

// Since tells how long ago a time was, in kubectl's wording.
func Since(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

// SinceMicro is Since for microsecond times.
func SinceMicro(t metav1.MicroTime) string { return Since(metav1.NewTime(t.Time)) }

// Containers returns the names and the images of containers, comma-separated.
func Containers(containers []corev1.Container) (names, images string) {
	n := make([]string, len(containers))
	i := make([]string, len(containers))
	for k := range containers {
		n[k], i[k] = containers[k].Name, containers[k].Image
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}

// Selector shows a label selector as a query, "<none>" if it selects all.
func Selector(s *metav1.LabelSelector) string { return metav1.FormatLabelSelector(s) }

// Deref returns what p points to, or the zero value.
func Deref[V any](p *V) V {
	var zero V
	if p == nil {
		return zero
	}
	return *p
}

// DerefOr returns the text of what p points to, or alt.
func DerefOr[V any](p *V, alt string) any {
	if p == nil {
		return alt
	}
	return fmt.Sprint(*p)
}
