package triplane

import (
	"bytes"
	_ "embed"
	"regexp"
	"strings"
	"testing"
)

// referenceFlags are the flags of kube-apiserver v1.37's help: name, type and
// default, a flag a line.
//
//go:embed testdata/flags.txt
var referenceFlags string

// flagDifferences has the reason why a flag differs from kube-apiserver's.
var flagDifferences = map[string]string{
	"bind-address":   "blank is loopback with the embedded etcd, and all addresses else",
	"anonymous-auth": "on by default, too: the help says so in words, since --authentication-config may decide it",
	"cert-dir":       "blank is the data directory, which every user can write",
}

// hiddenFlags are deprecated flags that kube-apiserver accepts but does not list.
var hiddenFlags = []string{"apiserver-count", "audit-webhook-batch-initial-backoff", "default-watch-cache-size", "kubelet-port", "kubelet-read-only-port"}

// ownFlags are flags that kube-apiserver does not have.
var ownFlags = map[string]string{
	"data-dir":               "where the embedded etcd and generated keys are",
	"advertise-port":         "k3s passes it to its kube-apiserver",
	"console":                "whether the console is served",
	"store":                  "another name of --etcd-servers, which may be PostgreSQL",
	"manifests":              "the directory whose files are applied",
	"simulate-workloads":     "whether workloads become ready without nodes, in tests",
	"workspaces":             "whether workspaces are served",
	"workspace-idle-timeout": "how long an unused one stays in memory",
	// Flags of the embedded etcd.
	"verify-store":                       "whether its files are verified at start",
	"embedded-etcd-listen":               "where it serves clients of etcd",
	"embedded-etcd-quota-bytes":          "how much it holds",
	"embedded-etcd-snapshot-count":       "when its log is cut",
	"embedded-etcd-auto-defragmentation": "whether its file shrinks",
	"embedded-etcd-peer-listen":          "where it listens to other members",
	"embedded-etcd-peer-advertise":       "where they find it",
	"embedded-etcd-name":                 "what they call it",
	"embedded-etcd-initial-cluster":      "whom it begins with",
	"join":                               "whose cluster it joins",
	"join-kubeconfig":                    "as whom",
	"snapshot-interval":                  "when it is saved",
	"snapshot-retention":                 "how many of these are kept",
	"snapshot-dir":                       "and where",
	// Flags of kube-controller-manager, for the built-in controllers.
	"controllers":                     "which of them",
	"namespace-deletion-grace-period": "when the content of a deleted namespace is deleted",
	"root-ca-file":                    "what kube-root-ca.crt holds",
	"legacy-service-account-token-clean-up-period": "when unused Secrets with tokens go",
	"cluster-signing-cert-file":                    "what signs certificates",
	"cluster-signing-key-file":                     "what signs certificates",
	"cluster-signing-duration":                     "how long they live",
	"terminated-pod-gc-threshold":                  "how many ended pods stay",
}

var (
	flagLine    = regexp.MustCompile(`^ +(?:-\w, )?--([a-z0-9-]+)(?: (\S+))?(?:   +(.*))?$`)
	flagDefault = regexp.MustCompile(`\(default "?([^()"]*)"?\)(?: \(DEPRECATED.*)?$`)
)

type flagText struct{ kind, def string }

// parseHelp parses the flags in a help text.
func parseHelp(help string) map[string]flagText {
	flags, name, text := map[string]flagText{}, "", ""
	end := func() {
		if f := flags[name]; name != "" {
			if m := flagDefault.FindStringSubmatch(text); m != nil {
				f.def = m[1]
			}
			flags[name] = f
		}
		name, text = "", ""
	}
	for line := range strings.Lines(help) {
		line = strings.TrimRight(line, "\n ")
		if m := flagLine.FindStringSubmatch(line); m != nil {
			end()
			name, text = m[1], m[3]
			if m[2] == "" {
				m[2] = "bool"
			}
			flags[name] = flagText{kind: m[2]}
		} else if strings.HasPrefix(line, "      ") {
			text += " " + strings.TrimSpace(line)
		} else {
			end()
		}
	}
	end()
	return flags
}

func TestFlagsAreThoseOfKubeAPIServer(t *testing.T) {
	var out bytes.Buffer
	if _, err := Parse("", []string{"--help"}, &out); err != nil {
		t.Fatal(err)
	}
	have := parseHelp(out.String())
	for line := range strings.Lines(referenceFlags) {
		f := strings.Fields(line)
		name, want := f[0], flagText{kind: f[1], def: strings.Join(f[2:], " ")}
		got, ok := have[name]
		delete(have, name)
		switch why := flagDifferences[name]; {
		case !ok:
			t.Errorf("--%s is not known", name)
		case got == want && why != "":
			t.Errorf("--%s does not differ any more: %s", name, why)
		case got != want && why == "":
			t.Errorf("--%s is %+v, want %+v", name, got, want)
		}
	}
	for name := range have {
		if ownFlags[name] == "" {
			t.Errorf("kube-apiserver has no --%s", name)
		}
	}
}

func TestHiddenFlagsAreParsed(t *testing.T) {
	for _, name := range hiddenFlags {
		value := "1"
		if name == "audit-webhook-batch-initial-backoff" {
			value = "1s"
		}
		if _, err := Parse("", []string{"--" + name + "=" + value}, nil); err != nil {
			t.Error(err)
		}
	}
}
