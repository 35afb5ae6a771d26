package admission

import (
	"context"

	restclient "k8s.io/client-go/rest"

	"triplane.dev/generic/base/authorizer"
)

// Plugin declares an admission plugin of a program that embeds the server. It is enabled and disabled by name
// with the same flags as built-in plugins, and configured by --admission-control-config-file.
type Plugin struct {
	// Name is unique among all plugins.
	Name string
	// OnByDefault enables the plugin unless a flag disables it.
	OnByDefault bool
	// New creates the plugin before the server starts. The server does not start if it returns an error.
	New func(Needs) (Interface, error)
}

// Needs is what the server passes to New of a plugin. Clients of its configurations have the server's own identity and
// work once the server runs, which is before the first request.
type Needs struct {
	// Core configures clients of the core API server, for example those of kubernetes.NewForConfig. It is nil in an
	// extension API server without one. Loopback configures clients of the server that the plugin runs in. In the core
	// API server both are the same.
	Core, Loopback *restclient.Config
	// Go runs work in the background from the server's start until its end: informers, for example.
	Go func(work func(context.Context))
	// Authorizer authorizes requests of users; nil allows all.
	Authorizer authorizer.Authorizer
	// Configuration is the plugin's configuration document, or nil.
	Configuration []byte
}
