package host

import (
	"fmt"
	"io"
	"strconv"

	"k8s.io/apimachinery/pkg/version"
)

// printVersion writes the output of --version: a line for true, all fields for raw. It reports whether it wrote
// something.
func printVersion(out io.Writer, title string, v *version.Info, asked string) (bool, error) {
	if asked == "raw" {
		_, err := fmt.Fprintf(out, "%#v\n", *v)
		return true, err
	}
	yes, err := strconv.ParseBool(asked)
	if err != nil {
		return false, fmt.Errorf("--version: %q is neither true, false nor raw", asked)
	}
	if yes {
		_, err = fmt.Fprintf(out, "%s %s (%s, %s, %s, %s)\n", title, v.GitVersion, v.GitCommit, v.BuildDate,
			v.GoVersion, v.Platform)
	}
	return yes, err
}

// versionFlag is the value of --version.
type versionFlag string

// Set implements pflag.Value.
func (v *versionFlag) Set(text string) error {
	*v = versionFlag(text)
	return nil
}

// String implements pflag.Value.
func (v *versionFlag) String() string { return string(*v) }

// Type implements pflag.Value.
func (v *versionFlag) Type() string { return "version" }
