package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"

	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"triplane.dev/generic/serve/healthz"
	"triplane.dev/internal/worker"
)

// HookContext is the argument of a post-start hook.
type HookContext struct {
	// Context is done when the server has completed its last request.
	context.Context
	// LoopbackClientConfig is privileged and calls the handler chain without a socket.
	LoopbackClientConfig *restclient.Config
	// Go and Start are the methods of the outermost GenericAPIServer: work may outlive the hook, and shutdown waits for
	// it.
	Go        func(work func(context.Context))
	Start     func(worker.Runner)
	HooksDone <-chan struct{} // closed when all post-start hooks have succeeded
}

// PostStartHookFunc runs when the server listens, and returns when the work of the hook is done. Each hook runs in
// a separate goroutine. The server is ready when all hooks have returned; an error makes Run return it.
type PostStartHookFunc func(HookContext) error

// PreShutdownHookFunc runs at the start of a shutdown, while the server still serves.
type PreShutdownHookFunc func() error

// PostStartHook is a named hook. The health check "poststarthook/NAME" passes after it has returned.
type PostStartHook struct {
	Name string
	Func PostStartHookFunc

	done *atomic.Bool // set by AddPostStartHook
}

// PreShutdownHook is a named hook.
type PreShutdownHook struct {
	Name string
	Func PreShutdownHookFunc
}

// AddPostStartHook adds a hook. The name must be unique in the chain.
func (s *GenericAPIServer) AddPostStartHook(name string, hook PostStartHookFunc) error {
	if name == "" || hook == nil {
		return errors.New("a post-start hook needs a name and a function")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prepared {
		return fmt.Errorf("post-start hook %q was added after PrepareRun", name)
	}
	if slices.ContainsFunc(s.postStartHooks, func(h PostStartHook) bool { return h.Name == name }) {
		return fmt.Errorf("post-start hook %q exists already", name)
	}
	s.postStartHooks = append(s.postStartHooks, PostStartHook{Name: name, Func: hook, done: new(atomic.Bool)})
	return nil
}

// AddPostStartHookOrDie is like AddPostStartHook, but panics on an error. It is for constant names.
func (s *GenericAPIServer) AddPostStartHookOrDie(name string, hook PostStartHookFunc) {
	if err := s.AddPostStartHook(name, hook); err != nil {
		panic(err)
	}
}

// AddPreShutdownHook adds a hook. The name must be unique in the chain.
func (s *GenericAPIServer) AddPreShutdownHook(name string, hook PreShutdownHookFunc) error {
	if name == "" || hook == nil {
		return errors.New("a pre-shutdown hook needs a name and a function")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.preShutdownHooks, func(h PreShutdownHook) bool { return h.Name == name }) {
		return fmt.Errorf("pre-shutdown hook %q exists already", name)
	}
	s.preShutdownHooks = append(s.preShutdownHooks, PreShutdownHook{Name: name, Func: hook})
	return nil
}

// HooksDone returns a channel that is closed when all post-start hooks have succeeded.
func (p *PreparedServer) HooksDone() <-chan struct{} { return p.hooksDone }

func (p *PreparedServer) startHooks(fail func(error)) {
	hooks := p.PostStartHooks()
	var left atomic.Int64
	left.Store(int64(len(hooks)))
	if len(hooks) == 0 {
		p.finishHooks()
	}
	for _, h := range hooks {
		p.life.start(func(ctx context.Context) {
			err := h.run(HookContext{ctx, p.LoopbackClientConfig, p.Go, p.Start, p.hooksDone})
			switch {
			case err == nil && left.Add(-1) == 0:
				p.finishHooks()
			case err != nil && ctx.Err() == nil:
				fail(err)
			}
		})
	}
}

// finishHooks closes HooksDone. /metrics/slis has the checks of /readyz from then on, whether or not a probe has
// requested them, as with kube-apiserver.
func (p *PreparedServer) finishHooks() {
	close(p.hooksDone)
	p.readyz.Note()
}

// check returns the health check of the hook.
func (h PostStartHook) check() healthz.HealthChecker {
	return healthz.NamedCheck("poststarthook/"+h.Name, func() error {
		if h.done.Load() {
			return nil
		}
		return errors.New("not finished")
	})
}

// run calls the hook, and returns a panic as an error.
func (h PostStartHook) run(ctx HookContext) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("post-start hook %q panicked: %v", h.Name, p)
			klog.ErrorS(err, "Hook panicked", "stack", string(debug.Stack()))
		}
	}()
	if err := h.Func(ctx); err != nil {
		return fmt.Errorf("post-start hook %q: %w", h.Name, err)
	}
	h.done.Store(true)
	return nil
}

func (h PreShutdownHook) run() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("pre-shutdown hook %q panicked: %v", h.Name, p)
			klog.ErrorS(err, "Hook panicked", "stack", string(debug.Stack()))
		}
	}()
	if err := h.Func(); err != nil {
		return fmt.Errorf("pre-shutdown hook %q: %w", h.Name, err)
	}
	return nil
}
