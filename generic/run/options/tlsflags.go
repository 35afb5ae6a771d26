package options

import (
	"crypto/tls"
	"fmt"
	"strconv"
	"strings"

	cliflag "k8s.io/component-base/cli/flag"
)

// tlsVersion is the value of --tls-min-version: a name such as VersionTLS12.
type tlsVersion struct {
	id   *uint16
	text string
}

// Set implements pflag.Value.
func (v *tlsVersion) Set(text string) error {
	if text == "" {
		*v.id, v.text = 0, ""
		return nil
	}
	id, err := cliflag.TLSVersion(text)
	if err != nil {
		return err
	}
	*v.id, v.text = id, text
	return nil
}

// String implements pflag.Value.
func (v *tlsVersion) String() string { return v.text }

// Type implements pflag.Value.
func (v *tlsVersion) Type() string { return "string" }

// tlsCipherSuites is the value of --tls-cipher-suites: names, comma separated. Repeated flags append.
type tlsCipherSuites struct {
	ids   *[]uint16
	names []string
}

// Set implements pflag.Value.
func (v *tlsCipherSuites) Set(text string) error {
	names := splitList(text)
	ids, err := cliflag.TLSCipherSuites(names)
	if err != nil {
		return err
	}
	*v.ids, v.names = append(*v.ids, ids...), append(v.names, names...)
	return nil
}

// String implements pflag.Value.
func (v *tlsCipherSuites) String() string { return strings.Join(v.names, ",") }

// Type implements pflag.Value.
func (v *tlsCipherSuites) Type() string { return "strings" }

// tlsCurves is the value of --tls-curve-preferences: numbers of crypto/tls, comma separated. Repeated flags
// append.
type tlsCurves struct{ ids *[]tls.CurveID }

// Set implements pflag.Value.
func (v *tlsCurves) Set(text string) error {
	var ids []tls.CurveID
	for _, item := range splitList(text) {
		n, err := strconv.ParseUint(item, 10, 16)
		if err != nil {
			return fmt.Errorf("%q is not the number of a curve", item)
		}
		ids = append(ids, tls.CurveID(n))
	}
	*v.ids = append(*v.ids, ids...)
	return nil
}

// String implements pflag.Value.
func (v *tlsCurves) String() string {
	var items []string
	if v.ids != nil {
		for _, id := range *v.ids {
			items = append(items, strconv.Itoa(int(id)))
		}
	}
	return "[" + strings.Join(items, ",") + "]"
}

// Type implements pflag.Value.
func (v *tlsCurves) Type() string { return "int32Slice" }

// splitList returns the items of a comma-separated list; none for "".
func splitList(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
