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
// Each resource is as it was at one moment, but not all at the same.
func Export(ctx context.Context, config *restclient.Config, what Selection, target string, out, progress io.Writer) error {
	s, err := connect(config)
	if err != nil {
		return err
	}
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
	all, err := e.server.resources()
	if err != nil {
		return nil, err
	}
	elsewhere, err := e.elsewhere(ctx)
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

// write writes the objects of a resource, and returns how many there were.
func (e *exporter) write(ctx context.Context, r resource, w io.Writer) (n int, err error) {
	opts := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := e.objects.Resource(r.GroupVersionResource).List(ctx, opts)
		if err != nil {
			return n, fmt.Errorf("%s: %w", r, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if isLeftOut(r.GroupResource(), o) || !e.selected(o) {
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
		if opts.Continue = list.GetContinue(); opts.Continue == "" {
			break
		}
	}
	if n > 0 {
		_, _ = fmt.Fprintf(e.progress, "%s: %d\n", r, n)
	}
	e.count += n
	return n, nil
}

func (e *exporter) selected(o *unstructured.Unstructured) bool {
	name := o.GetNamespace()
	if name == "" {
		name = o.GetName() // of a namespace
	}
	return len(e.what.Namespaces) == 0 || slices.Contains(e.what.Namespaces, name)
}

// clean removes what the server that imports makes; the uid stays, for references to it.
func clean(o *unstructured.Unstructured) {
	for _, field := range []string{"resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
}
