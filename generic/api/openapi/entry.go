package openapi

import (
	"context"
	"crypto/sha512"
	"fmt"
	"hash"
	"runtime/debug"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/openapi/models"
	"triplane.dev/generic/base/request"
)

// entry is the OpenAPI v3 document of one path, built when it is asked for. Its
// lock is held while the document is built, so that it is built once.
type entry struct {
	path string
	// Either source gives the document, or builder makes it of services.
	source   Source
	builder  *Builder
	services []WebService

	lock request.Lock
	doc  *document
	hash string
}

// document returns the document, nil if there is none.
func (e *entry) document(ctx context.Context) (*document, error) {
	if err := e.lock.Lock(ctx); err != nil {
		return nil, err
	}
	defer e.lock.Unlock()
	return e.build()
}

func (e *entry) build() (*document, error) {
	if e.doc != nil {
		return e.doc, nil
	}
	if e.hash == "" {
		e.hash = e.knownHash()
	}
	d := newDraft(false)
	if err := e.write(d); err != nil {
		return nil, err
	}
	doc := d.finish(e.hash)
	if doc != nil {
		e.doc, e.hash = doc, doc.hash
	}
	return doc, nil
}

func (e *entry) write(d *Draft) error {
	if e.source != nil {
		return e.source.V3(d)
	}
	gv := groupVersion(e.path)
	return e.builder.write(d, e.services, func(of schema.GroupVersion) bool {
		return of == gv || of == schema.GroupVersion{Version: "v1"}
	})
}

// currentHash returns the hash of the document, building the document only where
// there is no other way; "" if there is none. The error is that of ctx.
func (e *entry) currentHash(ctx context.Context) (string, error) {
	if err := e.lock.Lock(ctx); err != nil {
		return "", err
	}
	defer e.lock.Unlock()
	if e.hash == "" {
		e.hash = e.knownHash()
	}
	if e.hash == "" {
		if d, err := e.build(); d == nil || err != nil {
			return "", nil
		}
	}
	return e.hash, nil
}

// knownHash is the hash that is known without the document, else "".
func (e *entry) knownHash() string {
	if e.source == nil {
		return routesHash(e.path, e.services)
	}
	h, ok := e.source.(Hasher)
	if !ok {
		return ""
	}
	known := h.Hash()
	if known == "" {
		return ""
	}
	return hashOf(func(w hash.Hash) { fmt.Fprintf(w, "%s\n%s\n%s", build(), e.path, known) })
}

// routesHash identifies a document that is made of routes: the same build makes
// the same document of the same routes.
func routesHash(path string, services []WebService) string {
	return hashOf(func(w hash.Hash) {
		fmt.Fprintf(w, "%s\n%s\n", build(), path)
		for _, ws := range services {
			for _, r := range ws.Routes() {
				fmt.Fprintf(w, "%s %s %s %d\n", r.Method, r.Path, r.Operation, len(r.ParameterDocs))
			}
		}
	})
}

func hashOf(write func(hash.Hash)) string {
	h := sha512.New()
	write(h)
	return fmt.Sprintf("%X", h.Sum(nil))
}

// build identifies the code and the models that documents are made of.
var build = sync.OnceValue(func() string {
	info := "unknown"
	if b, ok := debug.ReadBuildInfo(); ok {
		info = b.String()
	}
	return hashOf(func(w hash.Hash) { fmt.Fprintf(w, "%s\n%s", info, models.Hash()) })
})
