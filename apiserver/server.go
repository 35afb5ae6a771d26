package apiserver

import (
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/version"

	"triplane.dev/generic/serve/server"
)

// Server declares an API server.
type Server struct {
	// Name is the name of the program, for example "forester".
	Name string
	// Usage is the text of --help above the flags; "" is a line with the name.
	Usage string
	// Title is the title of the OpenAPI documents; "" is Name.
	Title string
	// Version is the program's version, for /version and --version. OpenAPI documents contain its Major and Minor.
	// Nil is the release of Kubernetes whose API machinery is served.
	Version *version.Info

	// Groups are the API groups.
	Groups []Group
	// Plugins are additional admission plugins. They run in this order, after NamespaceLifecycle and before the
	// webhooks and policies of the core API server.
	Plugins []AdmissionPlugin
	// Flags binds additional flags; nil adds none.
	Flags func(*pflag.FlagSet)
	// Install is called after the groups were installed and before the server serves. It can add post-start hooks,
	// go-restful services (Handler.GoRestfulContainer) and other paths (Handler.NonGoRestfulMux), which are
	// authorized like resources. It may be nil.
	Install func(*server.GenericAPIServer) error
}
