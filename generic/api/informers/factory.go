package informers

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"triplane.dev/generic/storage/follow"
)

// Shared has one informer for each Go type: of this server, with a Factory, or of another one, with a Remote.
type Shared interface {
	// InformerFor returns the informer of a prototype's Go type, which must be in client-go's scheme.
	InformerFor(prototype runtime.Object) cache.SharedIndexInformer
	// StartWithContext starts, until ctx is done, the informers that do not run yet.
	StartWithContext(ctx context.Context)
	// Shutdown returns when no informer calls handlers any more. The contexts of their starts must be done.
	Shutdown()
}

// Factory has one informer for each Go type of a server. It is safe for concurrent use.
type Factory struct {
	find func(runtime.Object) follow.Source

	mu        sync.Mutex
	informers map[reflect.Type]*Informer
}

var _ Shared = (*Factory)(nil)

// NewFactory returns a factory. find returns the source of the objects of a Go type, nil if the server has none. It
// is called when an informer starts.
func NewFactory(find func(prototype runtime.Object) follow.Source) *Factory {
	return &Factory{find: find, informers: map[reflect.Type]*Informer{}}
}

// InformerFor implements Shared.
func (f *Factory) InformerFor(prototype runtime.Object) cache.SharedIndexInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := reflect.TypeOf(prototype)
	i := f.informers[t]
	if i == nil {
		i = New(func() follow.Source { return f.find(prototype) })
		f.informers[t] = i
	}
	return i
}

// StartWithContext implements Shared.
func (f *Factory) StartWithContext(ctx context.Context) {
	for _, i := range f.all() {
		i.Start(ctx)
	}
}

// Shutdown implements Shared.
func (f *Factory) Shutdown() {
	for _, i := range f.all() {
		i.Wait()
	}
}

func (f *Factory) all() []*Informer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.informers))
}
