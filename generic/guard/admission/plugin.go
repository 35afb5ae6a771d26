package admission

import (
	"context"

	"k8s.io/client-go/kubernetes"
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

// Needs is what the server passes to New of a plugin. Clients have the server's own identity and work once the
// server runs, which is before the first request. In an extension API server, Client belongs to the core API server
// and is nil without one; Loopback belongs to the extension API server itself.
type Needs struct {
	Client kubernetes.Interface
	// Loopback configures clients of the server that the plugin runs in.
	Loopback *restclient.Config
	// Go runs work in the background from the server's start until its end: informers created with Client, for
	// example.
	Go func(work func(context.Context))
	// Authorizer authorizes requests of users; nil allows all.
	Authorizer authorizer.Authorizer
	// Configuration is the plugin's configuration document, or nil.
	Configuration []byte
}
