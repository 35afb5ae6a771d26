package workspaces

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/workspaces/merged"
	"triplane.dev/workspaces/transport"
)

// Reader reads the built-in resources of all workspaces, without waking them.
type Reader struct {
	// Handler serves authorized lists and watches.
	Handler http.Handler
	// Local are the API groups of the root.
	Local *discovery.Groups
	// Run follows storage until ctx is done.
	Run func(ctx context.Context) error
}

// serves reports whether the reader serves a version.
func (r *Reader) serves(gv schema.GroupVersion) bool {
	found, ok := r.Local.Get(gv)
	return ok && !found.Custom && gv != GroupVersion
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
		}
	})
	return m.reader, m.readerErr
}

// serveAll responds to a list or watch of one resource in all workspaces. It wakes them for custom resources.
func (m *Manager) serveAll(w http.ResponseWriter, r *http.Request) {
	info := request.InfoFrom(r.Context())
	read := info.IsResourceRequest && info.Subresource == "" && (info.Verb == "list" || info.Verb == "watch") &&
		r.Method == http.MethodGet
	if !read {
		responsewriters.WriteError(w, r, apierrors.NewMethodNotSupported(schema.GroupResource{Group: info.APIGroup,
			Resource: info.Resource}, info.Verb+" in all workspaces"))
		return
	}
	reader, err := m.allReader()
	if err != nil {
		m.fail(w, r, All, err)
		return
	}
	if reader.serves(schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}) {
		reader.Handler.ServeHTTP(w, r)
		return
	}
	awake, release, err := m.acquireAll(r)
	if err != nil {
		m.fail(w, r, All, err)
		return
	}
	defer release()
	if info.Verb == "watch" {
		m.watchAll(w, r, awake)
		return
	}
	m.listAll(w, r, awake)
}

// acquireAll wakes all workspaces that are neither deleted nor suspended, in the order of their names.
func (m *Manager) acquireAll(r *http.Request) (awake []*instance, release func(), err error) {
	m.mu.Lock()
	var names []string
	for name, e := range m.entries {
		if !e.deleting && !e.suspended {
			names = append(names, name)
		}
	}
	m.mu.Unlock()
	slices.Sort(names)
	release = func() {
		for _, i := range awake {
			m.release(i)
		}
	}
	for _, name := range names {
		if i, joinErr := m.join(name); joinErr == nil { // otherwise it was just deleted
			awake = append(awake, i)
		}
	}
	for _, i := range awake {
		select {
		case <-i.ready:
			err = i.err
		case <-i.stopped.Done():
			err = errStopping
		case <-r.Context().Done():
			err = r.Context().Err()
		}
		if err != nil {
			release()
			return nil, nil, err
		}
	}
	return awake, release, nil
}

// position is where the next page of a list in all workspaces begins: the content of its continue token.
type position struct {
	Revision  int64  `json:"rv"`
	Workspace string `json:"ws"`
	Continue  string `json:"c,omitempty"` // of the list in Workspace
}

func (p position) token() string {
	raw, _ := json.Marshal(p) // a struct of strings and a number
	return base64.RawURLEncoding.EncodeToString(raw)
}

func parsePosition(token string) (p position, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil {
		return p, apierrors.NewBadRequest("continue key is not valid: " + err.Error())
	}
	return p, nil
}

// listAll responds with the objects of all workspaces, in the order of workspaces and keys, all at one revision.
func (m *Manager) listAll(w http.ResponseWriter, r *http.Request, awake []*instance) {
	merged, err := m.merge(r, awake)
	if err != nil {
		responsewriters.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(merged) // the client is gone otherwise
}

// mergedList is a list of any kind.
type mergedList struct {
	Kind       string            `json:"kind"`
	APIVersion string            `json:"apiVersion"`
	Metadata   metav1.ListMeta   `json:"metadata"`
	Items      []json.RawMessage `json:"items"`
}

func (m *Manager) merge(r *http.Request, awake []*instance) (*mergedList, error) {
	query := r.URL.Query()
	limit, err := strconv.ParseInt("0"+query.Get("limit"), 10, 64)
	if err != nil {
		return nil, apierrors.NewBadRequest("limit is not a number")
	}
	var from position
	if token := query.Get("continue"); token != "" {
		if from, err = parsePosition(token); err != nil {
			return nil, err
		}
	} else if from.Revision, err = m.config.Backend.Revision(r.Context()); err != nil {
		return nil, err
	}
	merged := &mergedList{Items: []json.RawMessage{}}
	merged.Metadata.ResourceVersion = strconv.FormatInt(from.Revision, 10)
	var missing error
	for n, i := range awake {
		name := i.entry.name
		if name < from.Workspace {
			continue
		}
		inner := ""
		if name == from.Workspace {
			inner = from.Continue
		}
		left := limit
		if limit > 0 {
			left -= int64(len(merged.Items))
		}
		page, err := i.list(r, from.Revision, left, inner)
		if apierrors.IsNotFound(err) { // the workspace does not serve the resource
			missing = err
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("workspace %q: %w", name, err)
		}
		merged.Kind, merged.APIVersion = page.Kind, page.APIVersion
		for _, item := range page.Items {
			if item, err = annotated(item, name); err != nil {
				return nil, err
			}
			merged.Items = append(merged.Items, item)
		}
		full := limit > 0 && int64(len(merged.Items)) >= limit
		if page.Metadata.Continue != "" {
			merged.Metadata.Continue = position{from.Revision, name, page.Metadata.Continue}.token()
			break
		}
		if full && n+1 < len(awake) {
			merged.Metadata.Continue = position{from.Revision, awake[n+1].entry.name, ""}.token()
			break
		}
	}
	if merged.Kind == "" && missing != nil {
		return nil, missing
	}
	if merged.Kind == "" {
		merged.Kind, merged.APIVersion = "List", "v1"
	}
	return merged, nil
}

// list reads a page of the resource in one workspace at a revision.
func (i *instance) list(r *http.Request, revision, limit int64, inner string) (*mergedList, error) {
	query := r.URL.Query()
	for _, own := range []string{"limit", "continue", "resourceVersion", "resourceVersionMatch"} {
		query.Del(own)
	}
	if limit > 0 {
		query.Set("limit", strconv.FormatInt(limit, 10))
	}
	if inner != "" {
		query.Set("continue", inner)
	} else {
		query.Set("resourceVersion", strconv.FormatInt(revision, 10))
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	}
	recorded := &recorder{header: http.Header{}, code: http.StatusOK}
	i.chain.Handler.ServeHTTP(recorded, asJSON(r, query.Encode()))
	if recorded.code != http.StatusOK {
		var status metav1.Status
		if err := json.Unmarshal(recorded.body, &status); err != nil || status.Reason == "" {
			return nil, apierrors.NewGenericServerResponse(recorded.code, "list", schema.GroupResource{}, "",
				string(recorded.body), 0, true)
		}
		return nil, &apierrors.StatusError{ErrStatus: status}
	}
	var page mergedList
	return &page, json.Unmarshal(recorded.body, &page)
}

// asJSON returns a copy of a request with a query, for a response in JSON.
func asJSON(r *http.Request, query string) *http.Request {
	copied := r.Clone(r.Context())
	copied.URL.RawQuery, copied.RequestURI = query, ""
	copied.Header.Set("Accept", "application/json")
	copied.Header.Del("Accept-Encoding")
	return copied
}

// annotated returns an object in JSON with transport.Annotation.
func annotated(object json.RawMessage, name string) (json.RawMessage, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(object, &parts); err != nil {
		return nil, err
	}
	var meta map[string]json.RawMessage
	if err := json.Unmarshal(parts["metadata"], &meta); err != nil {
		return nil, err
	}
	annotations := map[string]string{}
	if raw := meta["annotations"]; raw != nil {
		if err := json.Unmarshal(raw, &annotations); err != nil {
			return nil, err
		}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[transport.Annotation] = name
	var err error
	if meta["annotations"], err = json.Marshal(annotations); err != nil {
		return nil, err
	}
	if parts["metadata"], err = json.Marshal(meta); err != nil {
		return nil, err
	}
	return json.Marshal(parts)
}

// recorder is a ResponseWriter that keeps the response.
type recorder struct {
	header http.Header
	code   int
	body   []byte
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(code int) { r.code = code }

// Write implements io.Writer.
func (r *recorder) Write(p []byte) (int, error) {
	r.body = append(r.body, p...)
	return len(p), nil
}
