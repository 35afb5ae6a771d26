package kubeapi_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/managedfields"

	"triplane/generic/authentication"
	"triplane/generic/authentication/serviceaccount"
	"triplane/generic/authentication/user"
	"triplane/generic/authorization"
	"triplane/generic/openapi"
	"triplane/generic/openapi/models"
	"triplane/generic/options"
	"triplane/generic/server"
	"triplane/generic/storage/cache"
	"triplane/generic/storage/embedded"
	"triplane/kubeapi"
	"triplane/kubeapi/admission"
	"triplane/kubeapi/group"
)

// startServer runs a core server on its own, over an embedded etcd, with the
// plugins that are on by default and RBAC. It returns a transport whose requests
// come from the server itself, which may do everything.
func startServer(t *testing.T) http.RoundTripper {
	t.Helper()
	etcd, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	hub := cache.NewHub(etcd.Backend(), "/registry")
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { hub.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := etcd.Close(); err != nil {
			t.Error(err)
		}
	})

	config := server.NewConfig()
	config.RESTOptionsGetter = options.NewEtcd().RESTOptionsGetter(etcd.Backend(), hub)
	core, err := coreConfig(t, config).Complete().New(server.EmptyDelegate())
	if err != nil {
		t.Fatal(err)
	}
	prepared := core.GenericAPIServer.PrepareRun()
	readyCtx, failed := context.WithCancel(t.Context())
	running.Go(func() {
		defer failed()
		if err := prepared.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	transport := config.LoopbackClientConfig.Transport
	awaitReady(t, readyCtx, transport)
	return transport
}

// coreConfig completes the configuration of the generic server.
func coreConfig(t *testing.T, config *server.Config) *kubeapi.Config {
	t.Helper()
	scheme := kubeapi.NewScheme()
	schemas := &models.Source{}
	stores := group.NewStores()
	rules := storedRules{stores}
	config.Authorization = authorization.Union(authorization.SystemMasters(), rules)
	config.RuleResolver = rules
	enabled := func(name string) bool { return !admission.OffByDefault(name) }
	config.Admission = admission.Plugins(stores, config.Authorization, admission.Settings{}, enabled)

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const url = "https://triplane.test"
	issuer, err := serviceaccount.NewIssuer(url, key)
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
			TypeConverter: sync.OnceValues(func() (managedfields.TypeConverter, error) {
				return openapi.NewTypeConverter(schemas, scheme), nil
			}),
			TokenAuthenticator: authentication.TokenFunc(func(_ context.Context, token string) (*authentication.Response, error) {
				if token != "alices-token" {
					return nil, nil
				}
				return &authentication.Response{User: &user.Info{Name: "alice", Groups: []string{"developers"}}}, nil
			}),
			TokenIssuer:  issuer,
			APIAudiences: []string{url},
			ServiceCIDRs: []*net.IPNet{addresses},
		},
	}
}

// awaitReady returns when what the server creates for itself is there; ctx ends
// when the server stops.
func awaitReady(t *testing.T, ctx context.Context, transport http.RoundTripper) {
	t.Helper()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://triplane.test/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		if w.StatusCode == http.StatusOK {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
