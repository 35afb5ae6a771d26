package kubeapi_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/openapi/models"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/generic/guard/authorization"
	"triplane.dev/generic/run/options"
	"triplane.dev/generic/run/storageoptions"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/embedded"
	"triplane.dev/kubeapi"
	"triplane.dev/kubeapi/admission"
	"triplane.dev/kubeapi/group"
)

// kindGates are the features that are kinds of their own, or fields that stories show.
var kindGates = []string{
	"ClusterTrustBundle", "PodCertificateRequest", "CoordinatedLeaderElection", "StorageVersionMigrator", "GenericWorkload", "CompositePodGroup", "EvictionRequestAPI",
}

// enabled is how features are where all kinds are served.
func enabled(gate string) bool {
	return slices.Contains(kindGates, gate) || options.NewCompatibility().Enabled(gate)
}

// startServer runs a core server on its own, over an embedded etcd, with the
// plugins that are on by default and RBAC. It returns a transport whose requests
// come from the server itself, which may do everything.
func startServer(t *testing.T) http.RoundTripper {
	t.Helper()
	return startServerOver(t, enabled, asItIs)
}

// prepare changes the configuration of a server or what is stored, and returns the storage that the server is to use.
type prepare func(*server.Config, storage.Backend) storage.Backend

func asItIs(_ *server.Config, b storage.Backend) storage.Backend { return b }

// startServerOver starts it over what is prepared, with features on as enabled says.
func startServerOver(t *testing.T, enabled func(gate string) bool, prepared prepare) http.RoundTripper {
	t.Helper()
	etcd, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	config := server.NewConfig()
	backend := prepared(config, etcd.Backend())
	mux := cache.NewMultiplexer(backend, "/registry")
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = mux.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := etcd.Close(); err != nil {
			t.Error(err)
		}
	})

	config.RESTOptionsGetter = storageoptions.NewEtcd().RESTOptionsGetter(storageoptions.Stores{
		Default: storageoptions.Store{Backend: backend, Multiplexer: mux}})
	core, err := coreConfig(t, config, enabled).Complete().New(server.EmptyDelegate())
	if err != nil {
		t.Fatal(err)
	}
	run := core.GenericAPIServer.PrepareRun()
	stopped := make(chan struct{})
	running.Go(func() {
		defer close(stopped)
		if err := run.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-run.HooksDone(): // what the server creates for itself exists
	case <-stopped:
		t.FailNow()
	}
	return config.LoopbackClientConfig.Transport
}

// coreConfig completes the configuration of the generic server.
func coreConfig(t *testing.T, config *server.Config, enabled func(gate string) bool) *kubeapi.Config {
	t.Helper()
	scheme := kubeapi.NewScheme()
	schemas := &models.Source{}
	stores := group.NewStores()
	rules := storedRules{stores}
	config.Authorization = authorization.Union(authorization.SystemMasters(), rules)
	config.RuleResolver = rules
	plugins, err := admission.New(admission.Dependencies{
		Stores: stores, Authorizer: config.Authorization, Groups: config.Discovery,
		Loopback: config.LoopbackClientConfig, Tolerations: admission.DefaultTolerationOptions(),
		FeatureEnabled: enabled,
	}, decidesAlone)
	if err != nil {
		t.Fatal(err)
	}
	config.Admission = plugins.Chain

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const url = "https://triplane.test"
	signer, err := serviceaccount.NewSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	_, addresses, err := net.ParseCIDR("10.0.0.0/16")
	if err != nil {
		t.Fatal(err)
	}
	return &kubeapi.Config{
		Generic:       config,
		AdvertisePort: 6443,
		Groups: group.Deps{
			Stores: stores,
			Scheme: scheme,
			// All versions and kinds, whatever is served by default.
			Enabled: enabled,
			Serves:  func(schema.GroupVersion, string) bool { return true },
			TypeConverter: sync.OnceValues(func() (managedfields.TypeConverter, error) {
				return openapi.NewTypeConverter(schemas, scheme), nil
			}),
			TokenAuthenticator: authentication.TokenFunc(func(_ context.Context, token string) (*authentication.Response, error) {
				if token != "alices-token" {
					return nil, nil
				}
				return &authentication.Response{User: &user.Info{Name: "alice", Groups: []string{"developers"}}}, nil
			}),
			TokenIssuer:  serviceaccount.NewIssuer(url, signer),
			APIAudiences: []string{url},
			ServiceCIDRs: []*net.IPNet{addresses},
		},
	}
}

// decidesAlone reports whether an admission plugin is on by default and is not
// configured through the API: what one story configures must not reach others.
func decidesAlone(name string) bool {
	for _, p := range admission.Table() {
		if p.Name == name {
			return p.OnByDefault && !strings.HasSuffix(name, "AdmissionPolicy") && !strings.HasSuffix(name, "AdmissionWebhook")
		}
	}
	return false
}
