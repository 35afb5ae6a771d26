package kubeapi_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/run/storageoptions"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/embedded"
	"triplane.dev/kubeapi"
)

// TestPreviousReleaseReadsWhatIsStored: going back a version finds only versions that it knows. Kinds that it does
// not have in any version are stored as they are.
func TestPreviousReleaseReadsWhatIsStored(t *testing.T) {
	etcd, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close()
	config := server.NewConfig()
	mux := cache.NewMultiplexer(etcd.Backend(), "/registry")
	config.RESTOptionsGetter = storageoptions.NewEtcd().RESTOptionsGetter(storageoptions.Stores{Default: storageoptions.Store{Backend: etcd.Backend(), Multiplexer: mux}})
	core, err := coreConfig(t, config, enabled).Complete().New(server.EmptyDelegate())
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]schema.GroupVersionKind{}
	for gr, st := range core.Stores.All() {
		stored := st.Resource().StorageVersion
		checked[gr.String()] = stored
		knows := func(gv schema.GroupVersion) bool { return inPreviousRelease(t, gv.WithKind(stored.Kind)) }
		if !knows(stored.GroupVersion()) && slices.ContainsFunc(st.DecodableVersions(), knows) {
			t.Errorf("%s is stored as %s, which the previous release cannot read", gr, stored)
		}
	}
	if len(checked) < 60 {
		t.Errorf("only %d resources say how they are stored", len(checked))
	}
	if got := checked["clustertrustbundles.certificates.k8s.io"].Version; got != "v1beta1" {
		t.Errorf("bundles of trust are stored in %q", got)
	}
}

// inPreviousRelease reports whether the release before 1.37 had a kind, by what its Go type says of itself.
func inPreviousRelease(t *testing.T, kind schema.GroupVersionKind) bool {
	t.Helper()
	obj, err := kubeapi.NewScheme().New(kind)
	if err != nil {
		t.Fatal(err)
	}
	dated, ok := obj.(interface{ APILifecycleIntroduced() (major, minor int) })
	if !ok {
		return !strings.Contains(kind.Version, "alpha") // of which release it is, its type does not say
	}
	major, minor := dated.APILifecycleIntroduced()
	return major < 1 || major == 1 && minor <= 36
}
