// Workloads without nodes: --simulate-workloads makes them ready, as kubectl and clients see it.

package controllers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
)

// simulated starts a server that simulates workloads, and returns when pods can be created.
func simulated(t *testing.T) (*harness.Server, *kubernetes.Clientset) {
	t.Helper()
	s, client := harness.StartControlled(t, "--simulate-workloads")
	harness.Eventually(t, func() error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return s, client
}

// workload returns an object with a pod template and further fields of its spec.
func workload(kind, fields string) string {
	version := "apps/v1"
	if kind == "Job" {
		version = "batch/v1"
	}
	selector := `selector: {matchLabels: {app: w}}`
	restart := "Always"
	if kind == "Job" {
		selector, restart = "", "Never"
	}
	return fmt.Sprintf(`
apiVersion: %s
kind: %s
metadata: {name: w}
spec:
  %s
  template:
    metadata: {labels: {app: w}}
    spec:
      restartPolicy: %s
      containers: [{name: c, image: one}]
%s`, version, kind, selector, restart, fields)
}

// podsOf returns the pods of the workload.
func podsOf(t *testing.T, client kubernetes.Interface) []corev1.Pod {
	t.Helper()
	list, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=w"})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// awaitPods waits until the workload has a number of pods of an image.
func awaitPods(t *testing.T, client kubernetes.Interface, number int, image string) {
	t.Helper()
	harness.Eventually(t, func() error {
		pods := podsOf(t, client)
		for _, p := range pods {
			if p.Spec.Containers[0].Image != image {
				return fmt.Errorf("pod %s has the image %s", p.Name, p.Spec.Containers[0].Image)
			}
		}
		if len(pods) != number {
			return fmt.Errorf("there are %d pods, want %d", len(pods), number)
		}
		return nil
	})
}

func TestSimulatedDeployment(t *testing.T) {
	t.Parallel()
	s, client := simulated(t)
	if !strings.Contains(s.Output(), "Workloads are simulated") {
		t.Error("the log does not state that workloads are simulated")
	}
	s.KubectlIn(t, workload("Deployment", "  replicas: 3\n"), "apply", "-f", "-")
	s.KubectlIn(t, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"w"},"spec":{"selector":{"app":"w"},"ports":[{"port":80}]}}`, "apply", "-f", "-")
	s.Kubectl(t, "rollout", "status", "deployment/w", "--timeout=60s")
	s.Kubectl(t, "wait", "--for=condition=Available", "deployment/w", "--timeout=60s")
	pods := podsOf(t, client)
	if len(pods) != 3 {
		t.Fatalf("there are %d pods", len(pods))
	}
	for _, p := range pods {
		owner := metav1.GetControllerOf(&p)
		hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		if owner == nil || owner.Kind != "ReplicaSet" || owner.Name != "w-"+hash ||
			!strings.HasPrefix(p.Name, "w-"+hash+"-") {
			t.Errorf("pod %s with the hash %s has the owner %v", p.Name, hash, owner)
		}
		if p.Status.Phase != corev1.PodRunning || !p.Status.ContainerStatuses[0].Ready || p.Status.PodIP == "" ||
			p.Spec.NodeName != "" {
			t.Errorf("pod %s: %+v", p.Name, p.Status)
		}
	}
	harness.Eventually(t, func() error {
		if out := s.Kubectl(t, "get", "endpointslices", "-l", "kubernetes.io/service-name=w", "-o",
			"jsonpath={.items[*].endpoints[*].conditions.ready}"); out != "true true true" {
			return fmt.Errorf("endpoints are ready: %q", out)
		}
		return nil
	})

	s.Kubectl(t, "scale", "deployment/w", "--replicas=1")
	awaitPods(t, client, 1, "one")
	s.Kubectl(t, "set", "image", "deployment/w", "c=two")
	s.Kubectl(t, "rollout", "status", "deployment/w", "--timeout=60s")
	awaitPods(t, client, 1, "two")
	s.Kubectl(t, "rollout", "undo", "deployment/w")
	s.Kubectl(t, "rollout", "status", "deployment/w", "--timeout=60s")
	awaitPods(t, client, 1, "one")
	d, err := client.AppsV1().Deployments("default").Get(t.Context(), "w", metav1.GetOptions{})
	if err != nil || d.Annotations["deployment.kubernetes.io/revision"] != "3" ||
		d.Status.ObservedGeneration != d.Generation {
		t.Errorf("after the rollback: %v %+v, %v", d.Annotations, d.Status, err)
	}

	// A template whose pods stay Pending does not replace the pod that is ready.
	s.Kubectl(t, "patch", "deployment/w", "-p", `{"spec":{"progressDeadlineSeconds":1,"template":{"metadata":{"annotations":{"triplane.dev/simulated-phase":"Pending"}}}}}`)
	s.Kubectl(t, "wait", "--for=condition=Progressing=false", "deployment/w", "--timeout=60s")
	if out := s.Kubectl(t, "get", "deployment/w", "-o", "jsonpath={.status.replicas} {.status.availableReplicas} {.status.updatedReplicas}"); out != "2 1 1" {
		t.Errorf("replicas, available, updated: %s", out)
	}
	s.Kubectl(t, "delete", "deployment/w", "--timeout=60s")
	awaitPods(t, client, 0, "")
}

func TestSimulatedRecreateDeployment(t *testing.T) {
	t.Parallel()
	s, client := simulated(t)
	s.KubectlIn(t, workload("Deployment", "  replicas: 2\n  strategy: {type: Recreate}\n"), "apply", "-f", "-")
	s.Kubectl(t, "rollout", "status", "deployment/w", "--timeout=60s")
	s.Kubectl(t, "set", "image", "deployment/w", "c=two")
	s.Kubectl(t, "rollout", "status", "deployment/w", "--timeout=60s")
	awaitPods(t, client, 2, "two")
}

func TestSimulatedStatefulSet(t *testing.T) {
	t.Parallel()
	s, client := simulated(t)
	s.KubectlIn(t, workload("StatefulSet", `  replicas: 3
  serviceName: w
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`), "apply", "-f", "-")
	s.Kubectl(t, "rollout", "status", "statefulset/w", "--timeout=60s")
	names := func() (all []string) {
		for _, p := range podsOf(t, client) {
			all = append(all, p.Name)
		}
		return all
	}
	if got := fmt.Sprint(names()); got != "[w-0 w-1 w-2]" {
		t.Errorf("pods: %s", got)
	}
	s.Kubectl(t, "get", "pvc", "data-w-0", "data-w-1", "data-w-2")
	// A partition updates only the last pods, and those before it are recreated with the former template.
	s.Kubectl(t, "patch", "statefulset/w", "-p", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":2}},"template":{"spec":{"containers":[{"name":"c","image":"two"}]}}}}`)
	s.Kubectl(t, "rollout", "status", "statefulset/w", "--timeout=60s")
	s.Kubectl(t, "delete", "pod", "w-0", "--timeout=60s")
	harness.Eventually(t, func() error {
		out := s.Kubectl(t, "get", "pods", "-l", "app=w", "-o", "jsonpath={.items[*].spec.containers[0].image}")
		if out != "one one two" {
			return fmt.Errorf("images: %s", out)
		}
		return nil
	})
	s.Kubectl(t, "patch", "statefulset/w", "-p", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`)
	s.Kubectl(t, "rollout", "status", "statefulset/w", "--timeout=60s")
	awaitPods(t, client, 3, "two")
	s.Kubectl(t, "scale", "statefulset/w", "--replicas=1")
	awaitPods(t, client, 1, "two")
	set, err := client.AppsV1().StatefulSets("default").Get(t.Context(), "w", metav1.GetOptions{})
	if err != nil || set.Status.CurrentRevision != set.Status.UpdateRevision {
		t.Errorf("%+v, %v", set.Status, err)
	}
}

func TestSimulatedJobs(t *testing.T) {
	t.Parallel()
	s, client := simulated(t)
	s.KubectlIn(t, workload("Job", "  completions: 5\n  parallelism: 2\n  completionMode: Indexed\n"), "apply", "-f", "-")
	s.Kubectl(t, "wait", "--for=condition=complete", "job/w", "--timeout=60s")
	job := jobOf(t, client)
	if job.Status.Succeeded != 5 || job.Status.CompletedIndexes != "0-4" || job.Status.CompletionTime == nil ||
		job.Status.Active != 0 {
		t.Errorf("complete: %+v", job.Status)
	}
	s.Kubectl(t, "delete", "job/w", "--timeout=60s")
	awaitPods(t, client, 0, "")

	failing := strings.Replace(workload("Job", "  backoffLimit: 1\n"), "labels: {app: w}", `labels: {app: w}, annotations: {triplane.dev/simulated-phase: Failed}`, 1)
	s.KubectlIn(t, failing, "apply", "-f", "-")
	s.Kubectl(t, "wait", "--for=condition=failed", "job/w", "--timeout=60s")
	if job := jobOf(t, client); job.Status.Failed != 2 {
		t.Errorf("failed: %+v", job.Status)
	}
	s.Kubectl(t, "delete", "job/w", "--timeout=60s")

	s.KubectlIn(t, workload("Job", "  suspend: true\n"), "apply", "-f", "-")
	s.Kubectl(t, "wait", "--for=condition=suspended", "job/w", "--timeout=60s")
	s.Kubectl(t, "patch", "job/w", "-p", `{"spec":{"suspend":false}}`)
	s.Kubectl(t, "wait", "--for=condition=complete", "job/w", "--timeout=60s")
}

func jobOf(t *testing.T, client kubernetes.Interface) *batchv1.Job {
	t.Helper()
	job, err := client.BatchV1().Jobs("default").Get(t.Context(), "w", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// Without the flag nothing is simulated, and the role of the simulation does not exist.
func TestNothingIsSimulatedByDefault(t *testing.T) {
	t.Parallel()
	s, client := harness.StartControlled(t)
	s.KubectlIn(t, workload("ReplicaSet", "  replicas: 1\n"), "apply", "-f", "-")
	if _, err := client.RbacV1().ClusterRoles().Get(t.Context(), "system:controller:workload-simulator",
		metav1.GetOptions{}); err == nil {
		t.Error("the role exists")
	}
	// The garbage collector works, so the other controllers run.
	m := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"orphan","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"none"}]}}`
	s.KubectlIn(t, m, "create", "-f", "-")
	s.Kubectl(t, "wait", "--for=delete", "configmap/orphan", "--timeout=60s")
	var rs appsv1.ReplicaSet
	if err := json.Unmarshal([]byte(s.Kubectl(t, "get", "rs/w", "-o", "json")), &rs); err != nil ||
		rs.Status.Replicas != 0 || rs.Status.ObservedGeneration != 0 {
		t.Errorf("%+v, %v", rs.Status, err)
	}
}
