package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"triplane/generic/request"
)

// zpage is a page for operators at /NAME (KEPs 4828 and 4827): text for people, or
// an object of config.k8s.io where a client accepts that.
type zpage struct {
	name, kind string
	text       func() string
	object     func() map[string]any
}

const zpageWarning = `
apiserver %s
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.
`

// ServeHTTP implements http.Handler.
func (p *zpage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	form, ok := p.accepted(r.Header.Get("Accept"))
	switch {
	case !ok:
		writeNotAcceptable(w)
	case form.version == "":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, zpageWarning, p.name)
		fmt.Fprint(w, p.text())
	default:
		if form.version != "v1beta1" {
			request.AddWarning(r.Context(), "This version of the "+p.name+" endpoint is deprecated. Please use a newer version.")
		}
		p.write(w, form)
	}
}

func (p *zpage) write(w http.ResponseWriter, f zform) {
	object := p.object()
	object["kind"], object["apiVersion"] = p.kind, zpageGroup+"/"+f.version
	object["metadata"] = map[string]any{"name": "apiserver"}
	marshal := json.Marshal
	if f.media == mediaYAML {
		marshal = yaml.Marshal
	}
	text, err := marshal(object)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", fmt.Sprintf("%s;g=%s;v=%s;as=%s", f.media, zpageGroup, f.version, p.kind))
	_, _ = w.Write(text)
}

func writeNotAcceptable(w http.ResponseWriter) {
	text, _ := json.Marshal(&metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: metav1.StatusReasonNotAcceptable, Code: http.StatusNotAcceptable,
		Message: "only the following media types are accepted: application/json, application/yaml, text/plain",
	})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotAcceptable)
	_, _ = w.Write(text)
}

const (
	zpageGroup = "config.k8s.io"
	mediaYAML  = "application/yaml"
)

// zform is a form of a page: text, or an object of a version in a media type.
type zform struct{ media, version string }

// accepted returns the form that an Accept header prefers, in its order.
func (p *zpage) accepted(accept string) (zform, bool) {
	if accept == "" {
		return zform{}, true
	}
	for item := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		switch media {
		case "text/plain", "text/*", "*/*":
			return zform{}, true
		case "application/json", mediaYAML:
			v := params["v"]
			if params["g"] == zpageGroup && params["as"] == p.kind && (v == "v1alpha1" || v == "v1beta1") {
				return zform{media, v}, true
			}
		}
	}
	return zform{}, false
}

// installZPages serves /flagz, where the flags are known, and /statusz, where it is
// wanted.
func (p *PreparedServer) installZPages() {
	mux := p.Handler.NonGoRestfulMux
	if flags := p.config.Flags; flags != nil {
		mux.Handle("/flagz", &zpage{name: "flagz", kind: "Flagz",
			text: func() string {
				var b strings.Builder
				values := flags()
				for _, name := range slices.Sorted(maps.Keys(values)) {
					fmt.Fprintf(&b, "%s: %s\n", name, values[name])
				}
				return b.String()
			},
			object: func() map[string]any { return map[string]any{"flags": flags()} },
		})
	}
	if p.config.NoStatus {
		return
	}
	mux.Handle("/statusz", &zpage{name: "statusz", kind: "Statusz", text: p.statusText, object: p.status})
}

// statusPaths are the paths that operators look at.
var statusPaths = []string{"/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"}

func (p *PreparedServer) status() map[string]any {
	v, started := p.config.Version, time.Unix(0, p.started.Load()).UTC()
	return map[string]any{
		"startTime":        started.Format(time.RFC3339),
		"uptimeSeconds":    int64(time.Since(started).Seconds()),
		"goVersion":        v.GoVersion,
		"binaryVersion":    strings.TrimPrefix(v.GitVersion, "v"),
		"emulationVersion": v.EmulationMajor + "." + v.EmulationMinor,
		"paths":            statusPaths,
	}
}

func (p *PreparedServer) statusText() string {
	v, started := p.config.Version, time.Unix(0, p.started.Load()).UTC()
	up := int64(time.Since(started).Seconds())
	return fmt.Sprintf("\nStarted  %s\nUp  %d hr %02d min %02d sec\nGo version  %s\nBinary version  %s\nEmulation version  %s.%s\nPaths  %s\n",
		started.Format(time.UnixDate), up/3600, up/60%60, up%60, v.GoVersion,
		strings.TrimPrefix(v.GitVersion, "v"), v.EmulationMajor, v.EmulationMinor, strings.Join(statusPaths, " "))
}
