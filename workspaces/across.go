package workspaces

import (
	"context"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/workspaces/merged"
	"triplane.dev/workspaces/transport"
)

// Reader reads the resources of all workspaces, without waking them.
type Reader struct {
	// Chain serves authorized lists and watches. None of its hooks runs.
	Chain *server.PreparedServer
	// Run follows storage until ctx is done.
	Run func(ctx context.Context) error
}

// Merged returns the keys of all workspaces as those of one server, for a multiplexer.
func (m *Manager) Merged() *merged.Backend { return merged.New(m.mergedConfig(), m.config.Backend) }

// MergedView returns the view of a resource's backend in all workspaces, see storageoptions.RESTOptions.Through.
func (m *Manager) MergedView(b storage.Backend, view cache.View) cache.View {
	return merged.NewView(m.mergedConfig(), b, view)
}

func (m *Manager) mergedConfig() merged.Config {
	return merged.Config{Prefix: m.config.Prefix, Directory: directory, Existing: m.existing,
		Annotation: transport.Annotation}
}

// existing returns the workspaces with keys at a revision, as the last segments of their paths.
func (m *Manager) existing(ctx context.Context, revision int64) (all []string, err error) {
	found, err := m.config.Backend.Range(ctx, storage.RangeOptions{Prefix: m.existencePrefix(), Revision: revision})
	for i := range found.Items {
		if kv := &found.Items[i]; string(kv.Value) != erasing {
			all = append(all, strings.TrimPrefix(kv.Key, m.existencePrefix()))
		}
	}
	return all, err
}

// allReader returns the reader, which the first call creates and runs.
func (m *Manager) allReader() (*Reader, error) {
	m.readerOnce.Do(func() {
		m.reader, m.readerErr = m.createReader()
		if m.readerErr == nil {
			m.running.Keep(m.ctx, func(ctx context.Context) { _ = m.reader.Run(ctx) }) // it ends with ctx
			m.running.Go(func() {
				<-m.ctx.Done()
				m.reader.Chain.End()
			})
		}
	})
	return m.reader, m.readerErr
}

// serveAll responds to a list or watch of one resource in all workspaces.
func (m *Manager) serveAll(w http.ResponseWriter, r *http.Request) {
	info := request.InfoFrom(r.Context())
	read := info.IsResourceRequest && info.Subresource == "" && (info.Verb == "list" || info.Verb == "watch") &&
		r.Method == http.MethodGet
	if !read {
		responsewriters.WriteError(w, r, apierrors.NewMethodNotSupported(schema.GroupResource{Group: info.APIGroup,
			Resource: info.Resource}, info.Verb+" in all workspaces"))
		return
	}
	select {
	case <-m.established:
	case <-r.Context().Done():
	}
	reader, err := m.allReader()
	if err != nil {
		m.fail(w, r, All, err)
		return
	}
	reader.Chain.ServeHTTP(w, r)
}
