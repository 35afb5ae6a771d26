package options

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/klog/v2"
)

// Ignored are flags of kube-apiserver that are read, so that its command lines
// work, and change nothing here.
type Ignored struct {
	given []string
}

// ignoredFlags say for each flag the type of its value and why it does nothing.
var ignoredFlags = []struct{ name, kind, why string }{
	{"allow-metric-labels", "strings", "labels of metrics are not limited"},
	{"allow-metric-labels-manifest", "string", "labels of metrics are not limited"},
	{"cert-dir", "string", "generated certificates are below --data-dir"},
	{"coordinated-leadership-lease-duration", "duration", "leader election is not coordinated"},
	{"coordinated-leadership-renew-deadline", "duration", "leader election is not coordinated"},
	{"coordinated-leadership-retry-period", "duration", "leader election is not coordinated"},
	{"debug-socket-path", "string", "profiles are served at --secure-port"},
	{"disabled-metrics", "strings", "metrics cannot be switched off"},
	{"emulation-forward-compatible", "bool", "no other version is emulated"},
	{"enable-garbage-collector", "bool", "deletion always leaves what the garbage collector needs"},
	{"enable-logs-handler", "bool", "logs are not served"},
	{"etcd-count-metric-poll-period", "duration", "objects are counted when metrics are asked for"},
	{"etcd-db-metric-poll-interval", "duration", "sizes are read when metrics are asked for"},
	{"log-json-info-buffer-size", "string", "logs are not buffered"},
	{"log-json-split-stream", "bool", "logs are one stream"},
	{"max-connection-bytes-per-sec", "int", "connections are not throttled"},
	{"peer-advertise-ip", "string", "requests are not proxied to peers"},
	{"peer-advertise-port", "string", "requests are not proxied to peers"},
	{"peer-ca-file", "string", "requests are not proxied to peers"},
	{"runtime-config-emulation-forward-compatible", "bool", "no other version is emulated"},
	{"send-retry-after-while-not-ready-once", "bool", "requests wait for what they need"},
	{"show-hidden-metrics-for-version", "string", "no metrics are hidden"},
	{"storage-media-type", "string", "built-in kinds are stored as protobuf; what is stored as JSON is read"},
	{"watch-cache", "bool", "reads always come from the cache"},
	{"watch-cache-sizes", "strings", "caches hold what there is"},
}

// AddFlags binds the flags.
func (o *Ignored) AddFlags(fs *pflag.FlagSet) {
	for _, f := range ignoredFlags {
		flag := fs.VarPF(&ignoredValue{name: f.name, kind: f.kind, given: &o.given}, f.name, "", "Read and ignored: "+f.why+".")
		if f.kind == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	for flag, least := range map[string]string{"emulated-version": servedVersion, "min-compatibility-version": "1.33"} {
		fs.Var(&versions{flag: flag, least: least}, flag, "The version of Kubernetes to be like. It is "+servedVersion+", and cannot be another.")
	}
	fs.Var(&oneOf{allowed: []string{"etcd3"}}, "storage-backend", "How objects are stored: etcd3.")
}

// Note logs which flags were given in vain.
func (o *Ignored) Note() {
	for _, name := range o.given {
		for _, f := range ignoredFlags {
			if f.name == name {
				klog.InfoS("A flag is ignored", "flag", "--"+name, "reason", f.why)
			}
		}
	}
}

// ignoredValue checks that a value is of its type, and forgets it.
type ignoredValue struct {
	name, kind string
	given      *[]string
}

// Set implements pflag.Value.
func (v *ignoredValue) Set(text string) error {
	var err error
	switch v.kind {
	case "bool":
		_, err = strconv.ParseBool(text)
	case "int":
		_, err = strconv.Atoi(text)
	case "duration":
		_, err = time.ParseDuration(text)
	}
	if err == nil {
		*v.given = append(*v.given, v.name)
	}
	return err
}

// String implements pflag.Value.
func (v *ignoredValue) String() string { return "" }

// Type implements pflag.Value.
func (v *ignoredValue) Type() string { return v.kind }

// oneOf is a text of a few.
type oneOf struct {
	allowed []string
	text    string
}

// Set implements pflag.Value.
func (v *oneOf) Set(text string) error {
	for _, a := range v.allowed {
		if a == text {
			v.text = text
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", text, strings.Join(v.allowed, ", "))
}

// String implements pflag.Value.
func (v *oneOf) String() string { return v.text }

// Type implements pflag.Value.
func (v *oneOf) Type() string { return "string" }

// versions is the value of --emulated-version and --min-compatibility-version:
// this server is what it is, and can be asked to be nothing else.
type versions struct {
	flag  string
	least string // accepted as the lowest
	text  string
}

// Set implements pflag.Value.
func (v *versions) Set(list string) error {
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimPrefix(strings.TrimSpace(item), "kube=")
		got, err := version.ParseMajorMinor(item)
		if err != nil {
			return fmt.Errorf("--%s: %q is no version such as 1.36", v.flag, item)
		}
		if got.LessThan(version.MustParse(v.least)) || version.MustParse(servedVersion).LessThan(got) {
			return fmt.Errorf("--%s: this server is as %s; it cannot be as %s", v.flag, servedVersion, item)
		}
	}
	v.text = list
	return nil
}

// servedVersion is the release whose API is served.
const servedVersion = "1.36"

// String implements pflag.Value.
func (v *versions) String() string { return v.text }

// Type implements pflag.Value.
func (v *versions) Type() string { return "version" }
