package server

import (
	"context"

	restclient "k8s.io/client-go/rest"
)

// HookContext is what a hook gets: the context ends when the server begins to
// shut down, the loopback client is privileged and calls the handler chain
// without a socket.
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
