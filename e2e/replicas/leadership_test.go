// Servers of two releases on one etcd: storage versions, and coordinated leader election.

package replicas

import (
	"context"
	"testing"
	"time"

	internalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"triplane.dev/e2e/harness"
)

// TestServersTogether runs two servers on one etcd, the second as one of the release
// before. Each publishes in which versions it stores, and one of them elects leaders among
// candidates: the component of the older release leads when it comes, at either server.
func TestServersTogether(t *testing.T) {
	etcd := harness.StartEtcd(t)
	args := []string{"--etcd-servers", etcd,
		"--feature-gates=CoordinatedLeaderElection=true,StorageVersionAPI=true",
		"--runtime-config=coordination.k8s.io/v1beta1=true,internal.apiserver.k8s.io/v1alpha1=true",
		"--coordinated-leadership-lease-duration=3s", "--coordinated-leadership-renew-deadline=2s", "--coordinated-leadership-retry-period=500ms"}
	first := kubernetes.NewForConfigOrDie(harness.Start(t, append(args, "--min-compatibility-version=1.37")...).Config)
	second := kubernetes.NewForConfigOrDie(harness.Start(t, append(args, "--emulated-version=1.35")...).Config)

	checkStorageVersions(t, first)

	run := func(client kubernetes.Interface, name, emulation string) {
		candidate, _, err := leaderelection.NewCandidate(client, "default", name, "component", "1.37.0", emulation, coordinationv1.OldestEmulationVersion)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		t.Cleanup(stop)
		go candidate.Run(ctx)
		go elect(ctx, client, name)
	}
	run(first, "young", "1.37.0")
	awaitHolder(t, second, "young")
	run(second, "old", "1.35.0")
	awaitHolder(t, first, "old")
}

// elect takes part for a component until the context ends.
func elect(ctx context.Context, client kubernetes.Interface, name string) {
	for ctx.Err() == nil {
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "component"},
				Client: client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: name}},
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 500 * time.Millisecond, Coordinated: true,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
		})
		if err != nil {
			panic(err)
		}
		elector.Run(ctx)
	}
}

func awaitHolder(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	var last *coordinationv1.Lease
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		l, err := client.CoordinationV1().Leases("default").Get(ctx, "component", metav1.GetOptions{})
		if err != nil {
			return false, nil
		}
		last = l
		return ptr.Deref(l.Spec.HolderIdentity, "") == name && ptr.Deref(l.Spec.Strategy, "") == coordinationv1.OldestEmulationVersion, nil
	})
	if err != nil {
		t.Fatalf("%s does not lead: %v, %+v", name, err, last)
	}
}

// checkStorageVersions waits until both servers have said how they store resources: in the
// same version, unless it is new.
func checkStorageVersions(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	for name, common := range map[string]string{
		"apps.deployments": "apps/v1",
		"core.pods":        "v1",
		"admissionregistration.k8s.io.mutatingadmissionpolicies": "",
	} {
		var last *internalv1alpha1.StorageVersion
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			v, err := client.InternalV1alpha1().StorageVersions().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, nil
			}
			last = v
			return len(v.Status.StorageVersions) == 2, nil
		})
		if err != nil || ptr.Deref(last.Status.CommonEncodingVersion, "") != common {
			t.Errorf("%s: %v, %+v", name, err, last)
		}
	}
}
