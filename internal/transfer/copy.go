package transfer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	restclient "k8s.io/client-go/rest"
)

// maxCopied is how many bytes of JSON are copied at most: they are in memory at once.
const maxCopied = 64 << 20

// Copied is a copy of the objects of one server to another one.
type Copied struct {
	From, To *restclient.Config
	// Rejected receives a line for each object that To rejects.
	Rejected io.Writer
	// Progress is called after each object.
	Progress func(done, all int)
}

// Copy copies the objects that Export writes, without bootstrap tokens, with which clients of one server could enter
// the other. Existing objects are replaced. The error has the number of rejected objects.
func Copy(ctx context.Context, c Copied) error {
	from, err := connect(c.From)
	if err != nil {
		return err
	}
	to, err := connect(c.To)
	if err != nil {
		return err
	}
	e := exporter{server: from, progress: io.Discard}
	resources, err := e.wanted(ctx)
	if err != nil {
		return err
	}
	var objects []*unstructured.Unstructured
	bytes := 0
	for _, r := range resources {
		all := list{from: from.objects.Resource(r.GroupVersionResource)}
		if err := all.each(ctx, r, func(o *unstructured.Unstructured) error {
			if kind, _, _ := unstructured.NestedString(o.Object, "type"); r.String() == "secrets" &&
				kind == string(corev1.SecretTypeBootstrapToken) {
				return nil
			}
			text, err := json.Marshal(o.Object)
			if bytes += len(text); bytes > maxCopied {
				return fmt.Errorf("there are more than %d MiB of objects: copy them with triplane export and import", maxCopied>>20)
			}
			objects = append(objects, o)
			return err
		}); err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
	}
	i := newImporter(to, c.Rejected)
	i.finished = func(count int) { c.Progress(count, len(objects)) }
	if err := i.sorted(ctx, objects); err != nil {
		return err
	}
	return i.rejected(len(objects))
}
