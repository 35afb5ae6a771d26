package workspaces

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/serve/filters"
)

// dispatch is the innermost filter: it serves requests in workspaces with their chains, and all others with next.
func (m *Manager) dispatch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch name := request.WorkspaceFrom(r.Context()); name {
		case "":
			next.ServeHTTP(w, r)
		case All:
			m.serveAll(w, r)
		default:
			m.serve(w, r, name)
		}
	})
}

// serve serves an authorized request in a workspace.
func (m *Manager) serve(w http.ResponseWriter, r *http.Request, name string) {
	if i := markedWith(r.Context()); i != nil {
		chain, err := i.awaitCreated(r.Context())
		if err != nil {
			m.fail(w, r, name, err)
			return
		}
		chain.Handler.ServeHTTP(w, r)
		return
	}
	i, err := m.acquire(r.Context(), name)
	if err != nil {
		m.fail(w, r, name, err)
		return
	}
	defer m.release(i)
	if filters.LongRunning(r, request.InfoFrom(r.Context())) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		stop := i.onStop(cancel)
		defer stop()
		r = r.WithContext(ctx)
	}
	i.chain.Handler.ServeHTTP(w, r)
}

// fail responds to a request that no chain serves.
func (m *Manager) fail(w http.ResponseWriter, r *http.Request, name string, err error) {
	if errors.Is(err, errNotFound) {
		kind := schema.GroupResource{Group: GroupVersion.Group, Resource: Plural}
		responsewriters.WriteError(w, r, apierrors.NewNotFound(kind, name))
		return
	}
	responsewriters.WriteError(w, r, unavailable(name, err))
}
