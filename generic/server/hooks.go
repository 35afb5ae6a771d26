package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"

	restclient "k8s.io/client-go/rest"
)

// HookContext is what a hook gets: the context ends when the server has finished
// its last request on the way down, the loopback client is privileged and calls
// the handler chain without a socket.
type HookContext struct {
	context.Context
	LoopbackClientConfig *restclient.Config
}

// PostStartHookFunc starts work when the server listens. Each hook runs in a
// goroutine of its own; the server is ready when all have returned, and an error
// ends the process. Work that goes on starts goroutines with Go on the server,
// which waits for them at shutdown.
type PostStartHookFunc func(HookContext) error

// PreShutdownHookFunc runs at the beginning of a shutdown, while the server
// still answers.
type PreShutdownHookFunc func() error

// PostStartHook is a hook, the health check "poststarthook/NAME" of which
// passes once it has returned.
type PostStartHook struct {
	Name string
	Func PostStartHookFunc

	done *atomic.Bool
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
			err = fmt.Errorf("post-start hook %q panicked: %v\n%s", h.Name, p, debug.Stack())
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
		}
	}()
	if err := h.Func(); err != nil {
		return fmt.Errorf("pre-shutdown hook %q: %w", h.Name, err)
	}
	return nil
}
