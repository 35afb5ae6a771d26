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
)

// HookContext is what a hook gets.
type HookContext struct {
	// Context ends when the server has answered its last request.
	context.Context
	// LoopbackClientConfig is privileged and calls the handler chain without a
	// socket.
	LoopbackClientConfig *restclient.Config
	// Go runs work that goes on after the hook has returned in a goroutine that
	// shutdown waits for; it is GenericAPIServer.Go of the outermost server.
	Go func(work func(context.Context))
}

// PostStartHookFunc starts work when the server listens, and returns when what the
// hook's name promises is done. Each hook runs in a goroutine of its own; the
// server is ready when all have returned, and an error ends Run.
type PostStartHookFunc func(HookContext) error

// PreShutdownHookFunc runs at the beginning of a shutdown, while the server
// still answers.
type PreShutdownHookFunc func() error

// PostStartHook is a hook with its name; the health check "poststarthook/NAME"
// passes once it has returned.
type PostStartHook struct {
	Name string
	Func PostStartHookFunc

	done *atomic.Bool // set by AddPostStartHook
}

// PreShutdownHook is a hook with its name.
type PreShutdownHook struct {
	Name string
	Func PreShutdownHookFunc
}

// AddPostStartHook adds a hook. The name must be new in the chain.
func (s *GenericAPIServer) AddPostStartHook(name string, hook PostStartHookFunc) error {
	if name == "" || hook == nil {
		return errors.New("a post-start hook needs a name and a function")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prepared {
		return fmt.Errorf("post-start hook %q comes after the server was prepared", name)
	}
	if slices.ContainsFunc(s.postStartHooks, func(h PostStartHook) bool { return h.Name == name }) {
		return fmt.Errorf("post-start hook %q is there already", name)
	}
	s.postStartHooks = append(s.postStartHooks, PostStartHook{Name: name, Func: hook, done: new(atomic.Bool)})
	return nil
}

// AddPostStartHookOrDie is AddPostStartHook for names that are written in the
// source; it panics where one is taken.
func (s *GenericAPIServer) AddPostStartHookOrDie(name string, hook PostStartHookFunc) {
	if err := s.AddPostStartHook(name, hook); err != nil {
		panic(err)
	}
}

// AddPreShutdownHook adds a hook. The name must be new in the chain.
func (s *GenericAPIServer) AddPreShutdownHook(name string, hook PreShutdownHookFunc) error {
	if name == "" || hook == nil {
		return errors.New("a pre-shutdown hook needs a name and a function")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.preShutdownHooks, func(h PreShutdownHook) bool { return h.Name == name }) {
		return fmt.Errorf("pre-shutdown hook %q is there already", name)
	}
	s.preShutdownHooks = append(s.preShutdownHooks, PreShutdownHook{Name: name, Func: hook})
	return nil
}

// HooksDone is closed when all post-start hooks have returned without an error.
func (p *PreparedServer) HooksDone() <-chan struct{} { return p.hooksDone }

func (p *PreparedServer) startHooks(fail func(error)) {
	hooks := p.PostStartHooks()
	var left atomic.Int64
	left.Store(int64(len(hooks)))
	if len(hooks) == 0 {
		close(p.hooksDone)
	}
	for _, h := range hooks {
		p.life.start(func(ctx context.Context) {
			err := h.run(HookContext{Context: ctx, LoopbackClientConfig: p.LoopbackClientConfig, Go: p.Go})
			switch {
			case err == nil && left.Add(-1) == 0:
				close(p.hooksDone)
			case err != nil && ctx.Err() == nil:
				fail(err)
			}
		})
	}
}

// check is the health check of the hook.
func (h PostStartHook) check() HealthChecker {
	return NamedCheck("poststarthook/"+h.Name, func() error {
		if h.done.Load() {
			return nil
		}
		return errors.New("not finished")
	})
}

// run calls the hook; a panic in it is an error of it.
func (h PostStartHook) run(ctx HookContext) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("post-start hook %q panicked: %v", h.Name, p)
			klog.ErrorS(err, "A hook panicked", "stack", string(debug.Stack()))
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
			klog.ErrorS(err, "A hook panicked", "stack", string(debug.Stack()))
		}
	}()
	if err := h.Func(); err != nil {
		return fmt.Errorf("pre-shutdown hook %q: %w", h.Name, err)
	}
	return nil
}
