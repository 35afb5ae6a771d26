package triplane

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	flowv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"triplane.dev/kubeapi/nodeauthorizer"
)

// claims adds a front proxy's headers of a user.
type claims struct{ inner http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c claims) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Remote-User", "alice")
	r.Header.Set("X-Remote-Group", "system:masters")
	return c.inner.RoundTrip(r)
}

// claiming returns a client with a certificate ("" for none) and with a front proxy's headers of alice.
func claiming(t *testing.T, s *Server, dir, cert string) kubernetes.Interface {
	t.Helper()
	admin, err := s.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	config := restclient.AnonymousClientConfig(admin)
	if cert != "" {
		config.CertFile = filepath.Join(dir, "pki", cert+".crt")
		config.KeyFile = filepath.Join(dir, "pki", cert+".key")
	}
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return claims{inner} })
	return kubernetes.NewForConfigOrDie(config)
}

func TestOnlyFrontProxiesSpeakForOthers(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	s := startServer(t, dir)
	for cert, want := range map[string]string{"front-proxy-client": "alice", "admin": "triplane-admin", "": ""} {
		review, err := claiming(t, s, dir, cert).AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if want == "" {
			if !apierrors.IsForbidden(err) { // system:anonymous may not ask
				t.Errorf("without a certificate: %v, %v", review, err)
			}
			continue
		}
		if err != nil || review.Status.UserInfo.Username != want {
			t.Errorf("%s: %v, %v", cert, review, err)
		}
	}
}

func TestFlowSchemasSayWhetherTheyDangle(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c := client(t, startServer(t, t.TempDir())).FlowcontrolV1()
	schema := &flowv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: "mine"},
		Spec: flowv1.FlowSchemaSpec{PriorityLevelConfiguration: flowv1.PriorityLevelConfigurationReference{Name: "mine"}}}
	if _, err := c.FlowSchemas().Create(ctx, schema, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await := func(want flowv1.ConditionStatus) {
		t.Helper()
		for {
			f, err := c.FlowSchemas().Get(ctx, "mine", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if cs := f.Status.Conditions; len(cs) == 1 && cs[0].Type == flowv1.FlowSchemaConditionDangling && cs[0].Status == want {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	await(flowv1.ConditionTrue)
	level := &flowv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: flowv1.PriorityLevelConfigurationSpec{
		Type: flowv1.PriorityLevelEnablementLimited, Limited: &flowv1.LimitedPriorityLevelConfiguration{LimitResponse: flowv1.LimitResponse{Type: flowv1.LimitResponseTypeReject}}}}
	if _, err := c.PriorityLevelConfigurations().Create(ctx, level, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(flowv1.ConditionFalse)
	if err := c.PriorityLevelConfigurations().Delete(ctx, "mine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(flowv1.ConditionTrue)
}

func TestPrivilegedContainersAreRefused(t *testing.T) {
	ctx := context.Background()
	yes := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "c", Image: "i", SecurityContext: &corev1.SecurityContext{Privileged: &yes}}}}}
	for _, allowed := range []bool{false, true} {
		o := testOptions(t.TempDir())
		o.Kube.AllowPrivileged = allowed
		o.Admission.Disable = []string{"ServiceAccount"} // nobody makes accounts here
		s, err := Start(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client(t, s).CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		if allowed && err != nil || !allowed && !apierrors.IsInvalid(err) {
			t.Errorf("allowed %v: %v", allowed, err)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestVersionsThatAreNotServed(t *testing.T) {
	ctx := context.Background()
	o := testOptions(t.TempDir())
	if err := o.Kube.RuntimeConfig.Set("autoscaling/v1=false,batch/v1/cronjobs=false,node.k8s.io/v1=false"); err != nil {
		t.Fatal(err)
	}
	s, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	c := client(t, s)
	if _, err := c.AutoscalingV1().HorizontalPodAutoscalers("").List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("autoscaling/v1: %v", err)
	}
	if _, err := c.AutoscalingV2().HorizontalPodAutoscalers("").List(ctx, metav1.ListOptions{}); err != nil {
		t.Errorf("autoscaling/v2: %v", err)
	}
	if _, err := c.BatchV1().CronJobs("").List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("cron jobs: %v", err)
	}
	if _, err := c.BatchV1().Jobs("").List(ctx, metav1.ListOptions{}); err != nil {
		t.Errorf("jobs: %v", err)
	}
	groups, err := c.Discovery().ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups.Groups {
		if g.Name == "node.k8s.io" {
			t.Error("a group without versions is listed")
		}
	}
}

func TestNodesAreAuthorizedOnceTheirObjectsAreRead(t *testing.T) {
	s := startServer(t, t.TempDir())
	admin, err := s.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	config := restclient.CopyConfig(admin)
	config.Impersonate = restclient.ImpersonationConfig{UserName: "system:node:n1", Groups: []string{"system:nodes"}}
	start := time.Now()
	_, err = kubernetes.NewForConfigOrDie(config).CoreV1().Secrets("default").Get(t.Context(), "other", metav1.GetOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
	// With an informer that has no source, each request of a node waits for nodeauthorizer.FirstSync.
	if passed := time.Since(start); passed >= nodeauthorizer.FirstSync {
		t.Errorf("the response took %v", passed)
	}
}
