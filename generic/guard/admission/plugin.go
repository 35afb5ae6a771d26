package admission

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"triplane/generic/base/authorizer"
)

// Plugin declares a plugin of a program that embeds the server. It is switched on and off by
// its name, as those of the server are, and configured by --admission-control-config-file.
type Plugin struct {
	// Name is different from those of all other plugins.
	Name string
	// OnByDefault is whether the plugin runs unless it is disabled.
	OnByDefault bool
	// New makes the plugin, before the server starts. An error keeps the server from starting.
	New func(Needs) (Interface, error)
}

// Needs is what the server has for a plugin. Clients and informers act as the server itself,
// and can be used once it runs: requests come only then. Those of an extension API server's plugin
// are of the core API server, and nil where it is standalone; Loopback is for its own kinds.
type Needs struct {
	Client kubernetes.Interface
	// Loopback is for clients of the server that the plugin runs in.
	Loopback *restclient.Config
	// Go has work run from the server's start to its end.
	Go func(work func(context.Context))
	// Informers are started with the server, those that New has asked for; lists
	// are complete when HasSynced says so.
	Informers informers.SharedInformerFactory
	// Authorizer decides what users may do; nil allows everything.
	Authorizer authorizer.Authorizer
	// Configuration is the document that configures the plugin, nil where there is none.
	Configuration []byte
}
