package options

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// Ignored are flags of kube-apiserver that are accepted for compatibility, but have no effect here.
type Ignored struct {
	given []string
}

// ignoredFlags has kube-apiserver's types and defaults of the flags, and the reason why each has no effect here.
// Flags that kube-apiserver deprecates are hidden in the help, and print its deprecation message.
var ignoredFlags = []struct{ name, kind, def, why, deprecated string }{
	{"enable-garbage-collector", "bool", "true", "deletion always leaves what the garbage collector needs", ""},
	{"send-retry-after-while-not-ready-once", "bool", "false", "requests wait for what they need", ""},
	{"watch-cache-sizes", "resource#size", "", "caches hold all objects", ""},

	{"default-watch-cache-size", "int", "100", "caches hold all objects",
		"watch caches are automatically sized and this flag will be removed in a future version"},
	{"kubelet-read-only-port", "uint", "10255", "the read-only port is not used",
		"kubelet-read-only-port is deprecated and will be removed."},
}

// AddFlags binds the flags.
func (o *Ignored) AddFlags(fs *pflag.FlagSet) {
	for _, f := range ignoredFlags {
		flag := fs.VarPF(&ignoredValue{name: f.name, kind: f.kind, text: f.def, given: &o.given}, f.name, "",
			"Accepted for compatibility, without effect: "+f.why+".")
		if f.kind == "bool" {
			flag.NoOptDefVal = "true"
		}
		flag.Deprecated = f.deprecated
		flag.Hidden = f.deprecated != ""
	}
	fs.Var(&OneOf{Allowed: []string{"etcd3"}, Text: new(string)}, "storage-backend", "The storage backend: etcd3.")
	fs.Var(&OneOf{Allowed: []string{"", "1.36"}, Text: new(string)}, "show-hidden-metrics-for-version",
		"Show metrics that were hidden in this release: 1.36. There are none.")
}

// Note logs the ignored flags that were set.
func (o *Ignored) Note() {
	for _, name := range o.given {
		for _, f := range ignoredFlags {
			if f.name == name {
				klog.InfoS("Ignored flag", "flag", "--"+name, "reason", f.why)
			}
		}
	}
}

// ignoredValue validates the type of a value, and ignores it.
type ignoredValue struct {
	name, kind, text string
	given            *[]string
}

// Set implements pflag.Value.
func (v *ignoredValue) Set(text string) error {
	var err error
	switch v.kind {
	case "bool":
		_, err = strconv.ParseBool(text)
	case "int", "uint":
		_, err = strconv.Atoi(text)
	case "resource#size":
		err = validateCacheSizes(text)
	case "duration":
		_, err = time.ParseDuration(text)
	}
	if err == nil {
		v.text = text
		*v.given = append(*v.given, v.name)
	}
	return err
}

// String implements pflag.Value.
func (v *ignoredValue) String() string { return v.text }

// Type implements pflag.Value.
func (v *ignoredValue) Type() string {
	if v.kind == "resource#size" {
		return "strings"
	}
	return v.kind
}

func validateCacheSizes(list string) error {
	for item := range strings.SplitSeq(list, ",") {
		_, size, ok := strings.Cut(item, "#")
		if n, err := strconv.Atoi(size); item != "" && (!ok || err != nil || n < 0) {
			return fmt.Errorf("%q is not resource[.group]#size", item)
		}
	}
	return nil
}

// OneOf is a value from a list. Its zero value is "".
type OneOf struct {
	Allowed []string
	Text    *string
}

// Set implements pflag.Value.
func (v *OneOf) Set(text string) error {
	for _, a := range v.Allowed {
		if a == text {
			*v.Text = text
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", text, strings.Join(v.Allowed, ", "))
}

// String implements pflag.Value.
func (v *OneOf) String() string {
	if v.Text == nil {
		return ""
	}
	return *v.Text
}

// Type implements pflag.Value.
func (v *OneOf) Type() string { return "string" }
