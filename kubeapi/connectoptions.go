package kubeapi

import (
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// query reads values of a URL's query; the first error sticks.
type query struct {
	url.Values
	err error
}

func (q *query) string(name string) (out string) {
	if v, ok := q.Values[name]; ok && q.err == nil {
		q.err = runtime.Convert_Slice_string_To_string(&v, &out, nil)
	}
	return out
}

func (q *query) bool(name string) (out bool) {
	if v, ok := q.Values[name]; ok && q.err == nil {
		q.err = runtime.Convert_Slice_string_To_bool(&v, &out, nil)
	}
	return out
}

func (q *query) int64(name string) (out *int64) {
	if v, ok := q.Values[name]; ok && q.err == nil {
		q.err = runtime.Convert_Slice_string_To_Pointer_int64(&v, &out, nil)
	}
	return out
}

func readPodExec(v url.Values, out any) error {
	q, o := query{Values: v}, out.(*corev1.PodExecOptions)
	o.Stdin, o.Stdout, o.Stderr, o.TTY = q.bool("stdin"), q.bool("stdout"), q.bool("stderr"), q.bool("tty")
	o.Container, o.Command = q.string("container"), v["command"]
	return q.err
}

func readPodAttach(v url.Values, out any) error {
	q, o := query{Values: v}, out.(*corev1.PodAttachOptions)
	o.Stdin, o.Stdout, o.Stderr, o.TTY = q.bool("stdin"), q.bool("stdout"), q.bool("stderr"), q.bool("tty")
	o.Container = q.string("container")
	return q.err
}

func readPodLog(v url.Values, out any) error {
	q, o := query{Values: v}, out.(*corev1.PodLogOptions)
	o.Container, o.Follow, o.Previous, o.Timestamps = q.string("container"), q.bool("follow"), q.bool("previous"),
		q.bool("timestamps")
	o.SinceSeconds, o.TailLines, o.LimitBytes = q.int64("sinceSeconds"), q.int64("tailLines"), q.int64("limitBytes")
	o.InsecureSkipTLSVerifyBackend = q.bool("insecureSkipTLSVerifyBackend")
	if s, ok := v["stream"]; ok && len(s) > 0 {
		o.Stream = &s[0]
	}
	if s, ok := v["sinceTime"]; ok && q.err == nil {
		o.SinceTime = &metav1.Time{}
		q.err = metav1.Convert_Slice_string_To_v1_Time(&s, o.SinceTime, nil)
	}
	return q.err
}

func readPodPortForward(v url.Values, out any) error {
	ports, ok := v["ports"]
	if !ok {
		return nil
	}
	return metav1.Convert_Slice_string_To_Slice_int32(&ports, &out.(*corev1.PodPortForwardOptions).Ports, nil)
}

func readPodProxy(v url.Values, out any) error {
	q := query{Values: v}
	out.(*corev1.PodProxyOptions).Path = q.string("path")
	return q.err
}

func readServiceProxy(v url.Values, out any) error {
	q := query{Values: v}
	out.(*corev1.ServiceProxyOptions).Path = q.string("path")
	return q.err
}

func readNodeProxy(v url.Values, out any) error {
	q := query{Values: v}
	out.(*corev1.NodeProxyOptions).Path = q.string("path")
	return q.err
}
