package apiextensions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unique"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/apiextensions/customresource"
	"triplane.dev/apiextensions/customresourcedefinition"
	"triplane.dev/apiextensions/validation"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
)

// several is a backend with the objects of several servers: the last segment of a key names the server.
type several interface {
	Revision(ctx context.Context) (int64, error)
	// Each calls f for each key with a prefix at a revision.
	Each(ctx context.Context, prefix string, revision int64, f func(*storage.KeyValue)) error
}

// union enters into the catalogue one definition for the CRDs of a name that several servers have. Its objects are read
// as they are stored: it has no schemas, and converts by no webhook.
//
// The CRDs of a name may differ. Those with the scope and the names that most servers have are in the union. The
// objects of a server are in a version if its CRD serves the version and needs no webhook for it.
type union struct {
	server  *Server
	backend several
	start   sync.Once
	// members are the CRDs of each name.
	members map[string]*members
	// excluded are the servers whose objects are not in a version.
	excluded atomic.Pointer[map[schema.GroupVersionResource]map[string]bool]
}

// part is an encoded CRD with what the union reads of it. Servers with the same one share it.
type part = unique.Handle[string]

// members are the CRDs of one name: the part of each server's, and the servers with the same part. Work after a change
// grows with the number of parts, not of servers.
type members struct {
	of    map[string]part
	parts map[part]*alike
}

// alike are the CRDs with the same part.
type alike struct {
	crd     definitionObject
	look    string // see look
	text    string
	servers map[string]bool
}

func newUnion(s *Server, backend several) *union {
	u := &union{server: s, backend: backend, members: map[string]*members{}}
	u.excluded.Store(&map[schema.GroupVersionResource]map[string]bool{})
	return u
}

// onceStarted serves requests after the CRDs have been read, which the first request begins.
func (s *Server) onceStarted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.union.start.Do(func() {
			s.GenericAPIServer.Go(func(ctx context.Context) { keepFollowing(ctx, s.union.follow) })
			s.GenericAPIServer.Go(s.handler.sweepIdle)
		})
		select {
		case <-s.known:
		case <-r.Context().Done():
		}
		next.ServeHTTP(w, r)
	})
}

// follow reads the CRDs, and enters the changes of one watch. The cache of the CRDs is not filled.
func (u *union) follow(ctx context.Context) error {
	revision, err := u.backend.Revision(ctx)
	if err != nil {
		return err
	}
	opts := storage.WatchOptions{Revision: revision}
	opts.Prefix = u.server.prefix
	w, err := u.server.definitions.Cache().Watch(ctx, opts)
	if err != nil {
		return err
	}
	defer w.Stop()
	before := u.members
	u.members = map[string]*members{}
	if err := u.backend.Each(ctx, u.server.prefix, revision, func(kv *storage.KeyValue) {
		u.set(kv.Key, kv.Value)
	}); err != nil {
		return err
	}
	maps.Copy(before, u.members)
	for name := range before {
		u.publish(name)
	}
	select {
	case <-u.server.known:
	default:
		close(u.server.known)
	}
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return err
		}
		changed := map[string]bool{}
		for i := range events {
			switch e := &events[i]; e.Type {
			case storage.Bookmark:
			case storage.Deleted:
				changed[u.set(e.Record.Key, nil)] = true
			default:
				changed[u.set(e.Record.Key, e.Record.Value())] = true
			}
		}
		for name := range changed {
			u.publish(name)
		}
	}
}

// set records the CRD of a server, by its key. Nil removes it. It returns the name of the CRD.
func (u *union) set(key string, value []byte) (name string) {
	name, server, _ := strings.Cut(strings.TrimPrefix(key, u.server.prefix), "/")
	m := u.members[name]
	if m == nil {
		m = &members{of: map[string]part{}, parts: map[part]*alike{}}
		u.members[name] = m
	}
	m.remove(server)
	if encoded, ok := encodePart(value); ok {
		m.add(server, encoded)
	}
	return name
}

func (m *members) remove(server string) {
	encoded, ok := m.of[server]
	if !ok {
		return
	}
	delete(m.of, server)
	same := m.parts[encoded]
	if delete(same.servers, server); len(same.servers) == 0 {
		delete(m.parts, encoded)
	}
}

func (m *members) add(server string, encoded part) {
	same := m.parts[encoded]
	if same == nil {
		same = &alike{crd: &apiextensionsv1.CustomResourceDefinition{}, text: encoded.Value(), servers: map[string]bool{}}
		if json.Unmarshal([]byte(same.text), same.crd) != nil {
			return
		}
		same.look = look(same.crd)
		m.parts[encoded] = same
	}
	m.of[server], same.servers[server] = encoded, true
}

// encodePart returns what counts of a stored CRD. ok is false for one that is not established, or that cannot be read.
func encodePart(value []byte) (encoded part, ok bool) {
	if value == nil {
		return encoded, false
	}
	crd, err := customresourcedefinition.DecodeOutline(value)
	if err != nil || !validation.IsTrue(crd, apiextensionsv1.Established) {
		return encoded, false
	}
	webhook := crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
	all := apiextensionsv1.CustomResourceDefinition{}
	all.Spec.Group, all.Spec.Scope, all.Status.AcceptedNames = crd.Spec.Group, crd.Spec.Scope, crd.Status.AcceptedNames
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		served := v.Served && (!webhook || slices.Equal(crd.Status.StoredVersions, []string{v.Name}))
		all.Spec.Versions = append(all.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name,
			Served: served, Storage: v.Storage, AdditionalPrinterColumns: v.AdditionalPrinterColumns})
	}
	text, err := json.Marshal(&all)
	return unique.Make(string(text)), err == nil
}

// publish enters the union of the CRDs of a name into the catalogue. A change that lists have to see ends the watches.
func (u *union) publish(name string) {
	crd, excluded := u.members[name].unite()
	known := u.server.catalogue.Get(name)
	if crd == nil {
		delete(u.members, name)
		u.exclude(name, nil)
		u.server.catalogue.Remove(name)
		return
	}
	crd.Name = name
	changed := u.exclude(name, excluded)
	if known != nil {
		crd.Generation = known.Generation
		if !changed && equality.Semantic.DeepEqual(known.Spec, crd.Spec) &&
			equality.Semantic.DeepEqual(known.Status.AcceptedNames, crd.Status.AcceptedNames) {
			return
		}
	}
	crd.Generation++
	u.server.catalogue.set(crd, storage.NewRecord("", []byte("{}"), 0)) // no version has a schema
}

// exclude sets the servers whose objects are not in the versions of a resource. It reports whether they have changed.
func (u *union) exclude(name string, excluded map[string]map[string]bool) (changed bool) {
	gr, all := named(name), maps.Clone(*u.excluded.Load())
	for gvr, before := range all {
		if gvr.GroupResource() == gr {
			changed = changed || !maps.Equal(before, excluded[gvr.Version])
			delete(all, gvr)
		}
	}
	for version, servers := range excluded {
		gvr := gr.WithVersion(version)
		if _, before := (*u.excluded.Load())[gvr]; !before {
			changed = true
		}
		all[gvr] = servers
	}
	u.excluded.Store(&all)
	return changed
}

// unite returns the union of CRDs, and the servers whose objects are not in a version. It returns nil if there is no
// CRD, as for nil.
func (m *members) unite() (crd definitionObject, excluded map[string]map[string]bool) {
	if m == nil || len(m.parts) == 0 {
		return nil, nil
	}
	looks := map[string]int{} // how many servers have CRDs with the same scope and names
	for _, same := range m.parts {
		looks[same.look] += len(same.servers)
	}
	most := mostOf(looks)
	crd, stored := &apiextensionsv1.CustomResourceDefinition{}, map[string]int{}
	for _, same := range slices.SortedFunc(maps.Values(m.parts), func(a, b *alike) int {
		return cmp.Or(len(b.servers)-len(a.servers), strings.Compare(a.text, b.text))
	}) {
		if p := same.crd; same.look == most {
			crd.Spec.Group, crd.Spec.Scope = p.Spec.Group, p.Spec.Scope
			crd.Status.AcceptedNames = p.Status.AcceptedNames
			for i := range p.Spec.Versions {
				addVersion(crd, &p.Spec.Versions[i])
				if p.Spec.Versions[i].Storage {
					stored[p.Spec.Versions[i].Name] += len(same.servers)
				}
			}
		}
	}
	excluded, storage := map[string]map[string]bool{}, mostOf(stored)
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		v.Storage = v.Name == storage
		for _, same := range m.parts {
			if same.look == most && servedVersion(same.crd, v.Name) != nil {
				continue
			}
			if excluded[v.Name] == nil {
				excluded[v.Name] = map[string]bool{}
			}
			maps.Copy(excluded[v.Name], same.servers)
		}
	}
	crd.UID = "union"
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	return crd, excluded
}

// look returns the scope and the names of a CRD as one text.
func look(crd definitionObject) string {
	return fmt.Sprintf("%s %+v", crd.Spec.Scope, crd.Status.AcceptedNames)
}

// mostOf returns the key with the highest count, the first of several.
func mostOf(counts map[string]int) (most string) {
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		if most == "" || counts[key] > counts[most] {
			most = key
		}
	}
	return most
}

// addVersion adds a version of one CRD. Columns are those on which all CRDs agree that have the version.
func addVersion(crd definitionObject, v *apiextensionsv1.CustomResourceDefinitionVersion) {
	for i := range crd.Spec.Versions {
		if known := &crd.Spec.Versions[i]; known.Name == v.Name {
			known.Served = known.Served || v.Served
			if !equality.Semantic.DeepEqual(known.AdditionalPrinterColumns, v.AdditionalPrinterColumns) {
				known.AdditionalPrinterColumns = nil
			}
			return
		}
	}
	crd.Spec.Versions = append(crd.Spec.Versions, *v)
}

// serverField is a field of all objects in lists and watches of a union: the server, if its objects are excluded.
const serverField = "union.excluded"

// resource returns what lists and watches the objects of a version. Lists and watches warn of servers whose objects are
// not among them.
func (u *union) resource(v *customresource.Version, store *registry.Store[object]) *rest.Resource {
	names := store.Kind().Names
	gvr := v.GroupVersion().WithResource(names.Plural)
	r := v.Resource(store.SelectingBy(registry.VersionFields{Version: v.GroupVersion(), Names: []string{serverField},
		OfKey: func(key, _ string) string {
			if server := key[strings.LastIndexByte(key, '/')+1:]; (*u.excluded.Load())[gvr][server] {
				return server
			}
			return ""
		}}), "")
	list, watch := r.List, r.Watch
	r.List = func(ctx context.Context, o *metainternalversion.ListOptions) (runtime.Object, error) {
		return list(ctx, u.including(ctx, gvr, o))
	}
	r.Watch = func(ctx context.Context, o *metainternalversion.ListOptions) (rest.EventStream, error) {
		return watch(ctx, u.including(ctx, gvr, o))
	}
	return r
}

// including returns options that select no excluded objects.
func (u *union) including(ctx context.Context, gvr schema.GroupVersionResource,
	o *metainternalversion.ListOptions) *metainternalversion.ListOptions {
	excluded := (*u.excluded.Load())[gvr]
	if len(excluded) == 0 {
		return o
	}
	var servers []string
	for _, server := range slices.Sorted(maps.Keys(excluded)) {
		if len(servers) == maxNamed {
			servers = append(servers, "…")
			break
		}
		name, _, _ := strings.Cut(server, ".")
		servers = append(servers, name)
	}
	request.AddWarning(ctx, fmt.Sprintf("the objects of %s are not included: their definition of %s does not serve %s, "+
		"converts by a webhook, or has another scope or kind", strings.Join(servers, ", "), gvr.GroupResource(), gvr.Version))
	included := &metainternalversion.ListOptions{}
	if o != nil {
		*included = *o
	}
	only := fields.OneTermEqualSelector(serverField, "")
	if included.FieldSelector != nil {
		only = fields.AndSelectors(included.FieldSelector, only)
	}
	included.FieldSelector = only
	return included
}

// maxNamed is how many servers a warning names.
const maxNamed = 5
