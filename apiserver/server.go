package apiserver

import (
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/version"

	"triplane/generic/serve/server"
)

// Server declares an API server.
type Server struct {
	// Name is that of the program, "forester".
	Name string
	// Usage is what --help says above the flags; "" is a line with the name.
	Usage string
	// Title is that of the OpenAPI documents; "" is Name.
	Title string
	// Version is the program's own, for /version and --version. Its Major and Minor are those of the
	// OpenAPI documents. Nil is the release of Kubernetes whose API machinery is served.
	Version *version.Info

	// Groups are what it serves.
	Groups []Group
	// Plugins are its own admission plugins. They run in this order, behind NamespaceLifecycle and before
	// the webhooks and policies of the core API server.
	Plugins []AdmissionPlugin
	// Flags binds flags of its own; nil has none.
	Flags func(*pflag.FlagSet)
	// Install is called when the groups are installed and nothing is served yet. It adds post-start
	// hooks, go-restful services (Handler.GoRestfulContainer) and other paths
	// (Handler.NonGoRestfulMux), which are protected as resources are. Nil adds nothing.
	Install func(*server.GenericAPIServer) error
}
