package handlers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"triplane.dev/generic/api/codec"
	"triplane.dev/generic/api/handlers/fieldmanager"
	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/managedfields"
	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/openapi/models"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/storage/wire"
)

var (
	configMapKind     = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	configMapResource = corev1.SchemeGroupVersion.WithResource("configmaps")
)

// typeConverter is lazy, and slow on its first use.
var typeConverter = openapi.NewTypeConverter(&models.Source{}, clientscheme.Scheme)

// newScope is the scope of config maps, with managed fields.
func newScope(t testing.TB) *RequestScope {
	t.Helper()
	codec, err := codec.New(clientscheme.Scheme, configMapKind, codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fm, err := fieldmanager.New(fieldmanager.Options{
		Kind: configMapKind, Hub: corev1.SchemeGroupVersion, Types: typeConverter,
		Codecs: func(gv schema.GroupVersion) (rest.Codec, error) {
			if gv != corev1.SchemeGroupVersion {
				return nil, apierrors.NewNotFound(schema.GroupResource{}, gv.String())
			}
			return codec, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &RequestScope{
		Scope:    responsewriters.Scope{Storage: &rest.Resource{}, Kind: configMapKind, Codec: codec},
		Resource: configMapResource, Namespaced: true, StrategicMerge: true,
		FieldManager: func() (*managedfields.Manager, error) { return fm, nil },
	}
}

// fake keeps config maps of one namespace by name.
type fake struct {
	mu        sync.Mutex
	codec     rest.Codec
	objects   map[string]*corev1.ConfigMap
	revision  int
	conflict  bool // updates fail
	updates   int
	stream    rest.EventStream
	streamErr error
	listOpts  *internalversion.ListOptions
	deletion  *metav1.DeleteOptions
}

// newFake makes it what serves the scope.
func newFake(s *RequestScope, names ...string) *fake {
	f := &fake{codec: s.Codec, objects: map[string]*corev1.ConfigMap{}}
	s.Storage = &rest.Resource{
		New: func() runtime.Object { return &corev1.ConfigMap{} }, NewList: func() runtime.Object { return &corev1.ConfigMapList{} },
		Get: f.get, List: f.list, Watch: f.watch, Create: f.create, Update: f.update, Delete: f.delete,
	}
	for _, n := range names {
		f.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: n, Namespace: "ns", UID: types.UID("uid-" + n)}, Data: map[string]string{"k": "v"}})
	}
	return f
}

func (f *fake) put(c *corev1.ConfigMap) *corev1.ConfigMap {
	f.revision++
	c.ResourceVersion = strconv.Itoa(f.revision)
	f.objects[c.Name] = c
	return c.DeepCopy()
}

func (f *fake) stored(c *corev1.ConfigMap) *storedMap {
	c.Kind, c.APIVersion = "ConfigMap", "v1"
	s := &storedMap{obj: c}
	s.json, _ = f.codec.Encode(nil, c, wire.JSON)
	s.proto, _ = f.codec.Encode(nil, c, wire.Protobuf)
	return s
}

func (f *fake) get(_ context.Context, r rest.GetRequest) (runtime.Object, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.objects[r.Name]; c != nil {
		return f.stored(c), nil
	}
	return nil, apierrors.NewNotFound(configMapResource.GroupResource(), r.Name)
}

func (f *fake) list(_ context.Context, opts *internalversion.ListOptions) (runtime.Object, error) {
	f.listOpts = opts
	l := &rest.StoredList{ResourceVersion: strconv.Itoa(f.revision)}
	for _, n := range []string{"a", "b", "c"} {
		if c := f.objects[n]; c != nil {
			l.Items = append(l.Items, f.stored(c))
		}
	}
	return l, nil
}

func showTable(_ context.Context, obj runtime.Object, opts *metav1.TableOptions) (*metav1.Table, error) {
	t := &metav1.Table{}
	if !opts.NoHeaders {
		t.ColumnDefinitions = []metav1.TableColumnDefinition{{Name: "Name", Type: "string"}}
	}
	add := func(c *corev1.ConfigMap) {
		t.Rows = append(t.Rows, metav1.TableRow{Cells: []any{c.Name}, Object: runtime.RawExtension{Object: c}})
	}
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		add(o)
	case *corev1.ConfigMapList:
		for i := range o.Items {
			add(&o.Items[i])
		}
	}
	return t, nil
}

func (f *fake) create(ctx context.Context, r rest.CreateRequest) (runtime.Object, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := r.Object.(*corev1.ConfigMap)
	if f.objects[c.Name] != nil {
		return nil, apierrors.NewAlreadyExists(configMapResource.GroupResource(), c.Name)
	}
	if err := r.Validate(ctx, c); err != nil {
		return nil, err
	}
	c.UID = types.UID("uid-" + c.Name)
	return f.put(c), nil
}

func (f *fake) update(ctx context.Context, r rest.UpdateRequest) (runtime.Object, bool, error) {
	name := r.Name
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.objects[name]
	if old == nil && !r.ForceAllowCreate {
		return nil, false, apierrors.NewNotFound(configMapResource.GroupResource(), name)
	}
	created := old == nil
	if created {
		old = &corev1.ConfigMap{}
	}
	obj, err := r.Change(ctx, old.DeepCopy())
	if err != nil {
		return nil, false, err
	}
	f.updates++
	if f.conflict {
		return nil, false, apierrors.NewConflict(configMapResource.GroupResource(), name, io.ErrUnexpectedEOF)
	}
	if created {
		err = r.ValidateCreate(ctx, obj)
	} else {
		err = r.ValidateUpdate(ctx, obj, old)
	}
	if err != nil {
		return nil, false, err
	}
	c := obj.(*corev1.ConfigMap)
	c.UID = types.UID("uid-" + name)
	return f.put(c), created, nil
}

func (f *fake) delete(ctx context.Context, r rest.DeleteRequest) (runtime.Object, bool, error) {
	f.deletion = r.Options
	c := f.objects[r.Name]
	if c == nil {
		return nil, false, apierrors.NewNotFound(configMapResource.GroupResource(), r.Name)
	}
	if err := r.Validate(ctx, c); err != nil {
		return nil, false, err
	}
	return nil, false, nil
}

func (f *fake) watch(context.Context, *internalversion.ListOptions) (rest.EventStream, error) {
	return f.stream, f.streamErr
}

// storedMap is a config map as bytes.
type storedMap struct {
	obj         *corev1.ConfigMap
	json, proto []byte
}

func (s *storedMap) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (s *storedMap) DeepCopyObject() runtime.Object   { return s }
func (s *storedMap) ResourceVersion() string          { return s.obj.ResourceVersion }
func (s *storedMap) Decode() (runtime.Object, error)  { return s.obj.DeepCopy(), nil }
func (s *storedMap) Shared() (runtime.Object, error)  { return s.obj, nil }
func (s *storedMap) Wire(_ schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	if mt == wire.Protobuf {
		return s.proto, nil
	}
	return s.json, nil
}

func (s *storedMap) AppendWire(dst []byte, gv schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	b, err := s.Wire(gv, mt)
	return append(dst, b...), err
}

func (s *storedMap) WireItem(schema.GroupVersion, wire.MediaType) ([]byte, error) {
	return nil, errors.New("not in CBOR")
}
func (s *storedMap) KeptRow(_ schema.GroupVersion, encode func() ([]byte, error)) ([]byte, error) {
	return encode()
}

// batches is a stream of prepared events.
type batches struct {
	events [][]rest.Event
	end    error
}

func (b *batches) Next(ctx context.Context) ([]rest.Event, error) {
	if len(b.events) == 0 {
		if b.end == nil {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, b.end
	}
	e := b.events[0]
	b.events = b.events[1:]
	return e, nil
}

func (b *batches) Stop() {}

func (b *batches) Notify(func()) {}

func (b *batches) Initializing() bool { return false }

// call sends a request to a handler, as the filters would hand it over.
func call(h http.HandlerFunc, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body == "" {
		r.Body = http.NoBody
		r.ContentLength = 0
	}
	r.Header.Set("User-Agent", "test/1")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	info := &request.Info{IsResourceRequest: true, Path: r.URL.Path, APIPrefix: "api", APIVersion: "v1", Namespace: "ns", Resource: "configmaps", Parts: parts}
	if len(parts) > 1 {
		info.Name = parts[1]
	}
	warnings := &request.Warnings{}
	ctx := request.WithInfo(r.Context(), info)
	ctx = request.WithUser(ctx, &user.Info{Name: "alice"})
	ctx = request.WithWarnings(ctx, warnings)
	w := httptest.NewRecorder()
	h(w, r.WithContext(ctx))
	for _, t := range warnings.Texts() {
		w.Header().Add("Warning", t)
	}
	return w
}
