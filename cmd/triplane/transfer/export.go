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

	"triplane/internal/durable"
)

// pageSize is how many objects are read at a time.
const pageSize = 500

// Selection is what is exported.
type Selection struct {
	// Namespaces whose objects, and who themselves, are exported; none is everything.
	Namespaces []string
}

// Export writes the objects of a server to a file, a directory (a file a resource; where target is
// one, or ends with a slash), or to out where target is "-". What it does is printed to progress.
// Each resource, in each of the namespaces, is as it was at one moment, but not all at the same.
func Export(ctx context.Context, config *restclient.Config, what Selection, target string, out, progress io.Writer) error {
	s, err := connect(config)
	if err != nil {
		return err
	}
	what.Namespaces = slices.Compact(slices.Sorted(slices.Values(what.Namespaces)))
	e := exporter{server: s, what: what, progress: progress}
	if e.resources, err = e.wanted(ctx); err != nil {
		return err
	}
	info, statErr := os.Stat(target)
	switch {
	case target == "-":
		err = e.all(ctx, out)
	case strings.HasSuffix(target, "/") || statErr == nil && info.IsDir():
		err = e.files(ctx, target)
	default:
		err = durable.Write(target, 0o600, func(w io.Writer) error { return e.all(ctx, w) })
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

// wanted are the resources that are kept here.
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
			_, _ = fmt.Fprintf(e.progress, "%s: left out, another server keeps them\n", r)
		default:
			wanted = append(wanted, r)
		}
	}
	return wanted, nil
}

// all writes all objects, in order of their resources.
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
		return fmt.Errorf("there are YAML files in %s already: choose an empty directory", dir)
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

// write writes the selected objects of a resource, and returns how many there were.
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

// list is a request for objects.
type list struct {
	from          dynamic.ResourceInterface
	fieldSelector string
}

// lists are the requests for the selected objects of a resource.
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

// write writes the objects of a list, and returns how many there were.
func (l list) write(ctx context.Context, r resource, w io.Writer) (n int, err error) {
	opts := metav1.ListOptions{Limit: pageSize, FieldSelector: l.fieldSelector}
	for {
		page, err := l.from.List(ctx, opts)
		if err != nil {
			return n, err
		}
		for i := range page.Items {
			o := &page.Items[i]
			if isLeftOut(r.GroupResource(), o) {
				continue
			}
			clean(o)
			text, err := yaml.Marshal(o.Object)
			if err != nil {
				return n, err
			}
			if _, err := fmt.Fprintf(w, "---\n%s", text); err != nil {
				return n, err
			}
			n++
		}
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			return n, nil
		}
	}
}

// clean removes what the server that imports makes; the uid stays, for references to it.
func clean(o *unstructured.Unstructured) {
	for _, field := range []string{"resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
}
