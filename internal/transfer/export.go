package transfer

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"triplane.dev/internal/durable"
)

// pageSize is the limit of lists.
const pageSize = 500

// Selection selects the objects to export.
type Selection struct {
	// Namespaces are exported with their objects; empty means everything.
	Namespaces []string
}

// Target is where exported objects are written.
type Target struct {
	// Path is a file, a directory (if it exists or ends with a slash; one file per resource), or "-" for Out.
	Path string
	Out  io.Writer
}

// Export writes the objects of a server to a target, and prints its progress. The list of each resource in each
// namespace is consistent, but different lists may be of different times.
func Export(ctx context.Context, config *restclient.Config, what Selection, to Target, progress io.Writer) error {
	s, err := connect(config)
	if err != nil {
		return err
	}
	what.Namespaces = slices.Compact(slices.Sorted(slices.Values(what.Namespaces)))
	e := exporter{server: s, what: what, progress: progress}
	if e.resources, err = e.wanted(ctx); err != nil {
		return err
	}
	info, statErr := os.Stat(to.Path)
	switch {
	case to.Path == "-":
		err = e.all(ctx, to.Out)
	case strings.HasSuffix(to.Path, "/") || statErr == nil && info.IsDir():
		err = e.files(ctx, to.Path)
	default:
		err = durable.Write(to.Path, 0o600, func(w io.Writer) error { return e.all(ctx, w) })
	}
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(progress, "%d objects were exported\n", e.count)
	return nil
}

type exporter struct {
	*server
	what      Selection
	resources []resource
	progress  io.Writer
	count     int
}

// wanted returns the resources that this server stores.
func (e *exporter) wanted(ctx context.Context) (wanted []resource, err error) {
	elsewhere, err := e.elsewhere(ctx)
	if err != nil {
		return nil, err
	}
	all, err := e.server.resources(elsewhere)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		switch reason := leftOut[r.GroupResource()]; {
		case reason != "" || len(e.what.Namespaces) > 0 && !r.namespaced && r.String() != "namespaces":
		case elsewhere[r.Group]:
			_, _ = fmt.Fprintf(e.progress, "%s: skipped, another server stores them\n", r)
		default:
			wanted = append(wanted, r)
		}
	}
	return wanted, nil
}

// all writes all objects, ordered by resource.
func (e *exporter) all(ctx context.Context, w io.Writer) error {
	for _, r := range e.resources {
		if _, err := e.write(ctx, r, w); err != nil {
			return err
		}
	}
	return nil
}

// files writes a file for each resource that has objects.
func (e *exporter) files(ctx context.Context, dir string) error {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if left, err := fs.Glob(os.DirFS(dir), "*.yaml"); err != nil || len(left) > 0 {
		return fmt.Errorf("%s contains YAML files already: choose an empty directory", dir)
	}
	for _, r := range e.resources {
		path, n := filepath.Join(dir, r.String()+".yaml"), 0
		err := durable.Write(path, 0o600, func(w io.Writer) (err error) {
			n, err = e.write(ctx, r, w)
			return err
		})
		if err == nil && n == 0 {
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write writes the selected objects of a resource, and returns their number.
func (e *exporter) write(ctx context.Context, r resource, w io.Writer) (n int, err error) {
	for _, l := range e.lists(r) {
		more, err := l.write(ctx, r, w)
		if n += more; err != nil {
			return n, fmt.Errorf("%s: %w", r, err)
		}
	}
	if n > 0 {
		_, _ = fmt.Fprintf(e.progress, "%s: %d\n", r, n)
	}
	e.count += n
	return n, nil
}

// list is a list request.
type list struct {
	from          dynamic.ResourceInterface
	fieldSelector string
}

// lists returns the list requests for the selected objects of a resource.
func (e *exporter) lists(r resource) (some []list) {
	all := e.objects.Resource(r.GroupVersionResource)
	if len(e.what.Namespaces) == 0 {
		return []list{{from: all}}
	}
	for _, namespace := range e.what.Namespaces {
		if r.namespaced {
			some = append(some, list{from: all.Namespace(namespace)})
		} else {
			some = append(some, list{from: all, fieldSelector: "metadata.name=" + namespace})
		}
	}
	return some
}

// write writes the objects of a list, and returns their number.
func (l list) write(ctx context.Context, r resource, w io.Writer) (n int, err error) {
	err = l.each(ctx, r, func(o *unstructured.Unstructured) error {
		text, err := yaml.Marshal(o.Object)
		if err == nil {
			n++
			_, err = fmt.Fprintf(w, "---\n%s", text)
		}
		return err
	})
	return n, err
}

// each calls f for each object of a list that is exported.
func (l list) each(ctx context.Context, r resource, f func(*unstructured.Unstructured) error) error {
	opts := metav1.ListOptions{Limit: pageSize, FieldSelector: l.fieldSelector}
	for {
		page, err := l.from.List(ctx, opts)
		if err != nil {
			return err
		}
		for i := range page.Items {
			o := &page.Items[i]
			if isLeftOut(r.GroupResource(), o) {
				continue
			}
			clean(o)
			if err := f(o); err != nil {
				return err
			}
		}
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			return nil
		}
	}
}

// clean removes the metadata that the importing server sets. It keeps the uid, for references.
func clean(o *unstructured.Unstructured) {
	for _, field := range []string{"resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
}
