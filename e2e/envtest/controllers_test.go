// Controllers in envtest: they run with the directory of envtest-assets, unless a suite or the directory says
// otherwise.

package envtest

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"triplane.dev/e2e/harness"
)

// startEnvironment starts envtest with a directory that was made with flags.
func startEnvironment(t *testing.T, configure func(*envtest.APIServer), flags ...string) *kubernetes.Clientset {
	t.Helper()
	built, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	assets := t.TempDir()
	args := append([]string{"envtest-assets", assets}, flags...)
	if out, err := exec.CommandContext(t.Context(), built.Triplane, args...).CombinedOutput(); err != nil {
		t.Fatalf("triplane envtest-assets: %v\n%s", err, out)
	}
	e := &envtest.Environment{BinaryAssetsDirectory: assets}
	configure(e.ControlPlane.GetAPIServer())
	config, err := e.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	return kubernetes.NewForConfigOrDie(config)
}

func createNamespace(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ending"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// controllersMetric begins the metrics of controllers that run.
const controllersMetric = `running_managed_controllers{`

// A namespace ends. Controllers that suites do without do not run.
func TestControllersRun(t *testing.T) {
	client := startEnvironment(t, func(*envtest.APIServer) {})
	createNamespace(t, client)
	metrics, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil || !strings.Contains(string(metrics), controllersMetric) {
		t.Errorf("there are no metrics of controllers, %v", err)
	}
	for _, controller := range []string{"pod-garbage-collector", "garbage-collector", "serviceaccount",
		"root-ca-certificate-publisher"} {
		if strings.Contains(string(metrics), `name="`+controller+`-controller"} 1`) {
			t.Errorf("%s-controller runs", controller)
		}
	}
	// Suites that finalize namespaces themselves have half a second for that, also at the end of a whole second.
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1900 * time.Millisecond)))
	begun := time.Now()
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "ending", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(150 * time.Millisecond)
	_, err = client.CoreV1().Namespaces().Get(t.Context(), "ending", metav1.GetOptions{})
	if took := time.Since(begun); err != nil && took < 500*time.Millisecond {
		t.Errorf("%v after its deletion: %v", took, err)
	}
	harness.Eventually(t, func() error { return absent(t.Context(), client) })
}

func absent(ctx context.Context, client kubernetes.Interface) error {
	ns, err := client.CoreV1().Namespaces().Get(ctx, "ending", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("the namespace exists: %v, %v", ns.Status, err)
}

// The server has no metrics of controllers where they are switched off: by the suite, or by the directory.
func TestControllersAreSwitchedOff(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) *kubernetes.Clientset{
		"by the suite": func(t *testing.T) *kubernetes.Clientset {
			return startEnvironment(t, func(s *envtest.APIServer) { s.Configure().Set("controllers", "none") })
		},
		"by the directory": func(t *testing.T) *kubernetes.Clientset {
			return startEnvironment(t, func(*envtest.APIServer) {}, "--controllers=none")
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := start(t)
			metrics, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(metrics), controllersMetric) {
				t.Error("controllers run")
			}
		})
	}
}
