package simulate

import (
	"context"
	"hash/fnv"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

// PodsAccount is the service account of the controller of NewPods. Its role exists only with --simulate-workloads.
const PodsAccount = "workload-simulator"

// PhaseAnnotation of a pod is the phase that it reaches: Pending, Running, Succeeded or Failed. By default pods of
// Jobs succeed, and others are Running.
const PhaseAnnotation = "triplane.dev/simulated-phase"

// podController sets the status of pods.
type podController struct {
	env    *control.Env
	client corev1client.PodsGetter
	queue  *control.Queue[control.Key]
}

// NewPods returns the controller that plays the kubelet for pods of the other controllers.
func NewPods(e *control.Env) (worker.Runner, error) {
	client, err := corev1client.NewForConfig(e.As(PodsAccount))
	if err != nil {
		return nil, err
	}
	c := &podController{env: e, client: client}
	c.queue = control.NewQueue(e, "simulated_pods", workers, c.sync)
	e.Feed.On(group.Pods(e.Stores).Resource(), func(o *control.Object) {
		if !o.Deleted() {
			c.queue.Add(control.KeyOf(o))
		}
	})
	return c, nil
}

// Start implements worker.Runner.
func (c *podController) Start(ctx context.Context) {
	klog.Warning("Workloads are simulated (--simulate-workloads): pods of Deployments, ReplicaSets, StatefulSets " +
		"and Jobs become Running, Ready or Succeeded, but no container runs. Use this for tests only.")
	c.queue.Start(ctx)
}

// Wait implements worker.Runner.
func (c *podController) Wait() { c.queue.Wait() }

// simulated reports whether a pod belongs to a controller of this package, and whether that is a Job.
func simulated(p *corev1.Pod) (yes, job bool) {
	owner := metav1.GetControllerOf(p)
	if owner == nil || p.Spec.NodeName != "" {
		return false, false
	}
	switch owner.APIVersion + "/" + owner.Kind {
	case "apps/v1/ReplicaSet", "apps/v1/StatefulSet":
		return true, false
	case "batch/v1/Job":
		return true, true
	}
	return false, false
}

// target returns the phase that a pod reaches.
func target(p *corev1.Pod, job bool) corev1.PodPhase {
	switch phase := corev1.PodPhase(p.Annotations[PhaseAnnotation]); phase {
	case corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed:
		return phase
	}
	if job {
		return corev1.PodSucceeded
	}
	return corev1.PodRunning
}

// sync advances a pod by one phase.
func (c *podController) sync(ctx context.Context, key control.Key) error {
	p, err := group.Pods(c.env.Stores).GetConsistent(control.Reading(ctx), key.Namespace, key.Name)
	if err != nil {
		return ignoreNotFound(err)
	}
	yes, job := simulated(p)
	if !yes || p.DeletionTimestamp != nil || len(p.Spec.SchedulingGates) > 0 {
		return nil
	}
	wanted, before := target(p, job), p.Status.Phase
	switch {
	case wanted == corev1.PodPending:
		return nil
	case before == corev1.PodPending || before == "":
		run(p, metav1.Now())
	case before == corev1.PodRunning && wanted != corev1.PodRunning:
		end(p, wanted, metav1.Now())
	case before == corev1.PodRunning && !isReady(p) && gatesPass(p):
		setCondition(p, corev1.PodReady, corev1.ConditionTrue, metav1.Now()) // a readiness gate passed
	default:
		return nil
	}
	_, err = c.client.Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return control.Later("pod %s changed", p.Name)
	}
	return ignoreNotFound(err)
}

// gatesPass reports whether all readiness gates of a pod are true.
func gatesPass(p *corev1.Pod) bool {
	return !slices.ContainsFunc(p.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool {
		return !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == g.ConditionType && c.Status == corev1.ConditionTrue
		})
	})
}

// run sets the status of a pod to that of a pod whose containers have started.
func run(p *corev1.Pod, now metav1.Time) {
	s := &p.Status
	s.Phase, s.StartTime = corev1.PodRunning, &now
	s.PodIP = address(p)
	s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	s.ObservedGeneration = p.Generation
	s.InitContainerStatuses, s.ContainerStatuses = nil, nil
	for i := range p.Spec.InitContainers {
		container := &p.Spec.InitContainers[i]
		status := started(container, now)
		if container.RestartPolicy == nil || *container.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			status.State, status.Started = terminated(0, "Completed", now), new(bool)
		}
		s.InitContainerStatuses = append(s.InitContainerStatuses, status)
	}
	for i := range p.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, started(&p.Spec.Containers[i], now))
	}
	for _, t := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReadyToStartContainers,
		corev1.PodInitialized, corev1.ContainersReady} {
		setCondition(p, t, corev1.ConditionTrue, now)
	}
	ready := corev1.ConditionFalse
	if gatesPass(p) {
		ready = corev1.ConditionTrue
	}
	setCondition(p, corev1.PodReady, ready, now)
}

// end sets the status of a pod to that of a pod whose containers have terminated.
func end(p *corev1.Pod, phase corev1.PodPhase, now metav1.Time) {
	p.Status.Phase = phase
	code, reason := int32(0), "Completed"
	if phase == corev1.PodFailed {
		code, reason = 1, "Error"
	}
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		begun := now
		if c.State.Running != nil {
			begun = c.State.Running.StartedAt
		}
		c.State, c.Ready, c.Started = terminated(code, reason, now), false, new(bool)
		c.State.Terminated.StartedAt = begun
	}
	setCondition(p, corev1.PodReady, corev1.ConditionFalse, now)
	setCondition(p, corev1.ContainersReady, corev1.ConditionFalse, now)
}

func started(c *corev1.Container, now metav1.Time) corev1.ContainerStatus {
	yes := true
	return corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: "simulated://" + c.Image,
		ContainerID: "simulated://" + c.Name, Ready: true, Started: &yes,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}
}

func terminated(code int32, reason string, now metav1.Time) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason,
		StartedAt: now, FinishedAt: now}}
}

func setCondition(p *corev1.Pod, t corev1.PodConditionType, status corev1.ConditionStatus, now metav1.Time) {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == t {
			if c.Status != status {
				c.Status, c.LastTransitionTime = status, now
			}
			return
		}
	}
	p.Status.Conditions = append(p.Status.Conditions,
		corev1.PodCondition{Type: t, Status: status, LastTransitionTime: now})
}

// address returns the invented address of a pod, in 100.64.0.0/10.
func address(p *corev1.Pod) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.UID)) // never fails
	n := h.Sum32()
	return net.IPv4(100, byte(64+n>>16&63), byte(n>>8), byte(n)).String()
}
