// Work of the controllers that is due while a workspace sleeps, or while no server runs.
package workspaces

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/testserver"
	"triplane.dev/workspaces"
)

// later is after how long the work is due: later than workspaces fall asleep.
const later = 4 * time.Second

// startSleepy starts a server whose workspaces sleep after a second, and whose namespaces are emptied after later.
func startSleepy(t *testing.T, backend storage.Backend) *testserver.Server {
	t.Helper()
	return testserver.Start(t, testserver.WithWorkspaces(), testserver.WithControllers(), testserver.WithOptions(func(o *triplane.Options) {
		o.Workspaces.IdleTimeout, o.Etcd.Backend, o.Etcd.Memory = time.Second, backend, false
		o.Controllers.NamespaceGracePeriod = later
	}))
}

// makeDue creates a workspace with a finished Job that expires later, and a namespace that ends then.
func makeDue(t *testing.T, s *testserver.Server) {
	t.Helper()
	create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	ctx, c := bounded(t), clientOf(t, s.InWorkspace("a"))
	finishJob(t, c)
	if _, err := c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ends"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().ConfigMaps("ends").Create(ctx, settings("content"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.CoreV1().Namespaces().Delete(ctx, "ends", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func finishJob(t *testing.T, c *kubernetes.Clientset) {
	t.Helper()
	ctx, ttl, now := bounded(t), int32(later/time.Second), metav1.Now()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "expires"}, Spec: batchv1.JobSpec{TTLSecondsAfterFinished: &ttl,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
	job, err := c.BatchV1().Jobs("default").Create(ctx, job, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	job.Status = batchv1.JobStatus{Succeeded: 1, StartTime: &now, CompletionTime: &now, Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}}}
	if _, err := c.BatchV1().Jobs("default").UpdateStatus(ctx, job, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitDone waits without requests to the workspace until the work is done.
func awaitDone(t *testing.T, backend storage.Backend) {
	t.Helper()
	ctx := bounded(t)
	kept := func(path string) int {
		all, err := backend.Range(ctx, storage.RangeOptions{Prefix: "/registry/.workspaces/a."})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, kv := range all.Items {
			if matched := len(kv.Key) > len(path) && kv.Key[len(kv.Key)-len(path):] == path; matched {
				n++
			}
		}
		return n
	}
	await(t, "the work that was due", func() (bool, error) {
		return kept("/jobs/default/expires")+kept("/namespaces/ends")+kept("/configmaps/ends/content") == 0, nil
	})
}

// A workspace that sleeps wakes when its work is due, sleeps again, and nothing more is due.
func TestDueWorkWakes(t *testing.T) {
	backend := memory.New()
	s := startSleepy(t, backend)
	makeDue(t, s)
	await(t, "sleep", func() (bool, error) { return state(t, s, "asleep") == "1", nil })
	if _, err := clientOf(t, s.Config()).Discovery().ServerVersion(); err != nil {
		t.Fatal(err)
	}
	awaitDone(t, backend)
	await(t, "sleep after the work", func() (bool, error) { return state(t, s, "asleep") == "1", nil })
	await(t, "the end of all work", func() (bool, error) {
		due, err := backend.Range(bounded(t), storage.RangeOptions{Prefix: "/registry/.workspaces/.due/"})
		return len(due.Items) == 0, err
	})
}

// Work that is due while no server runs, or after a restart, is done without a request.
func TestDueWorkAfterARestart(t *testing.T) {
	backend := memory.New()
	t.Run("before", func(t *testing.T) { makeDue(t, startSleepy(t, backend)) })
	s := startSleepy(t, backend)
	if awake := state(t, s, "awake"); awake != "0" {
		t.Errorf("%s workspaces are awake before their work is due", awake)
	}
	awaitDone(t, backend)
}
