package podvalidation

import (
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/check"
)

// probe validates a probe. onceOK: one success is enough, and the only choice;
// graceOK: it may say how long a container that fails it has to end.
func (v *checker) probe(p *corev1.Probe, path *field.Path, onceOK, graceOK bool) {
	if p == nil {
		return
	}
	v.handler(handler{p.Exec, p.HTTPGet, p.TCPSocket, p.GRPC, nil}, path)
	for _, f := range []struct {
		name  string
		value int32
	}{
		{"initialDelaySeconds", p.InitialDelaySeconds}, {"timeoutSeconds", p.TimeoutSeconds},
		{"periodSeconds", p.PeriodSeconds},
		{"successThreshold", p.SuccessThreshold}, {"failureThreshold", p.FailureThreshold},
	} {
		v.Add(validation.ValidateNonnegativeField(int64(f.value), path.Child(f.name))...)
	}
	grace := path.Child("terminationGracePeriodSeconds")
	if p.TerminationGracePeriodSeconds != nil {
		if g := *p.TerminationGracePeriodSeconds; g <= 0 {
			v.Add(field.Invalid(grace, g, "must be greater than 0"))
		}
		if !graceOK {
			v.Add(field.Invalid(grace, *p.TerminationGracePeriodSeconds, "must not be set for readinessProbes"))
		}
	}
	if onceOK && p.SuccessThreshold != 1 {
		v.Add(field.Invalid(path.Child("successThreshold"), p.SuccessThreshold, "must be 1"))
	}
}

// handler is one of the ways to look after a container.
type handler struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func (v *checker) handler(h handler, path *field.Path) {
	n := 0
	// first says that this is the first of the handler's types; each further
	// one is refused.
	first := func(name string) bool {
		if n++; n > 1 {
			v.Add(field.Forbidden(path.Child(name), "may not specify more than 1 handler type"))
		}
		return n == 1
	}
	if h.exec != nil && first("exec") && len(h.exec.Command) == 0 {
		v.Add(field.Required(path.Child("exec", "command"), ""))
	}
	if h.http != nil && first("httpGet") {
		v.httpGet(h.http, path.Child("httpGet"))
	}
	if h.tcp != nil && first("tcpSocket") {
		v.portNumberOrName(h.tcp.Port, path.Child("tcpSocket", "port"))
	}
	if h.grpc != nil && first("grpc") {
		v.Messages(utilvalidation.IsValidPortNum(int(h.grpc.Port)), h.grpc.Port, path.Child("grpc", "port"))
		if m := h.grpc.Mode; m != nil {
			v.Add(check.OneOf(*m, path.Child("grpc", "mode"), corev1.GRPCProbeModePlaintext,
				corev1.GRPCProbeModeTLS)...)
		}
	}
	if h.sleep != nil && first("sleep") {
		grace := *v.spec.TerminationGracePeriodSeconds
		if s := h.sleep.Seconds; s < 0 || s > grace {
			v.Add(field.Invalid(path.Child("sleep"), s,
				fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", grace)))
		}
	}
	if n == 0 {
		v.Add(field.Required(path, "must specify a handler type"))
	}
}

func (v *checker) lifecycle(l *corev1.Lifecycle, path *field.Path) {
	if h := l.PostStart; h != nil {
		v.handler(handler{h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep}, path.Child("postStart"))
	}
	if h := l.PreStop; h != nil {
		v.handler(handler{h.Exec, h.HTTPGet, h.TCPSocket, nil, h.Sleep}, path.Child("preStop"))
	}
	if l.StopSignal != nil {
		v.stopSignal(*l.StopSignal, path.Child("stopSignal"))
	}
}

// stopSignal validates a signal, which depends on the operating system.
func (v *checker) stopSignal(signal corev1.Signal, path *field.Path) {
	switch os := v.spec.OS; {
	case os == nil || os.Name == "":
		v.Add(field.Forbidden(path, "may not be set for containers with empty `spec.os.name`"))
	case os.Name == corev1.Linux:
		v.Add(check.OneOf(signal, path, linuxSignals()...)...)
	case os.Name == corev1.Windows:
		v.Add(check.OneOf(signal, path, corev1.SIGKILL, corev1.SIGTERM)...)
	}
}

// linuxSignals returns the names of the signals of Linux, sorted.
var linuxSignals = sync.OnceValue(func() []corev1.Signal {
	signals := []corev1.Signal{
		corev1.SIGABRT, corev1.SIGALRM, corev1.SIGBUS, corev1.SIGCHLD, corev1.SIGCLD, corev1.SIGCONT, corev1.SIGFPE,
		corev1.SIGHUP, corev1.SIGILL, corev1.SIGINT, corev1.SIGIO, corev1.SIGIOT, corev1.SIGKILL, corev1.SIGPIPE,
		corev1.SIGPOLL, corev1.SIGPROF, corev1.SIGPWR, corev1.SIGQUIT, corev1.SIGSEGV, corev1.SIGSTKFLT,
		corev1.SIGSTOP, corev1.SIGSYS, corev1.SIGTERM, corev1.SIGTRAP, corev1.SIGTSTP, corev1.SIGTTIN,
		corev1.SIGTTOU, corev1.SIGURG, corev1.SIGUSR1, corev1.SIGUSR2, corev1.SIGVTALRM, corev1.SIGWINCH,
		corev1.SIGXCPU, corev1.SIGXFSZ, corev1.SIGRTMIN, corev1.SIGRTMAX,
	}
	for i := 1; i <= 15; i++ {
		signals = append(signals, corev1.Signal(fmt.Sprintf("SIGRTMIN+%d", i)))
	}
	for i := 1; i <= 14; i++ {
		signals = append(signals, corev1.Signal(fmt.Sprintf("SIGRTMAX-%d", i)))
	}
	slices.Sort(signals)
	return signals
})

func (v *checker) httpGet(g *corev1.HTTPGetAction, path *field.Path) {
	if g.Path == "" {
		v.Add(field.Required(path.Child("path"), ""))
	}
	v.portNumberOrName(g.Port, path.Child("port"))
	v.Add(check.OneOf(g.Scheme, path.Child("scheme"), corev1.URISchemeHTTP, corev1.URISchemeHTTPS)...)
	for i := range g.HTTPHeaders {
		v.Messages(utilvalidation.IsHTTPHeaderName(g.HTTPHeaders[i].Name), g.HTTPHeaders[i].Name, path.Child("httpHeaders"))
	}
	if g.Protocol == nil {
		return
	}
	p := path.Child("protocol")
	v.Add(check.OneOf(*g.Protocol, p, corev1.HTTPProtocolHTTP1, corev1.HTTPProtocolHTTP2)...)
	if *g.Protocol == corev1.HTTPProtocolHTTP2 && g.Scheme != corev1.URISchemeHTTP {
		v.Add(field.Invalid(p, *g.Protocol, "is only supported with HTTP (H2C)"))
	}
}

func (v *checker) portNumberOrName(port intstr.IntOrString, path *field.Path) {
	if port.Type == intstr.Int {
		v.Messages(utilvalidation.IsValidPortNum(port.IntValue()), port.IntValue(), path)
		return
	}
	v.Messages(utilvalidation.IsValidPortName(port.StrVal), port.StrVal, path)
}
