package server

import (
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
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
	version, text, ok := p.accepted(r.Header.Get("Accept"))
	switch {
	case !ok:
		http.Error(w, "406 page not found", http.StatusNotAcceptable)
	case text:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, zpageWarning, p.name)
		fmt.Fprint(w, p.text())
	default:
		object := p.object()
		object["kind"], object["apiVersion"] = p.kind, "config.k8s.io/"+version
		object["metadata"] = map[string]any{"name": "apiserver"}
		writeJSON(w, object)
	}
}

// accepted returns the form that an Accept header prefers, in its order.
func (p *zpage) accepted(accept string) (version string, text, ok bool) {
	if accept == "" {
		return "", true, true
	}
	for item := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		switch media {
		case "text/plain", "text/*", "*/*":
			return "", true, true
		case "application/json":
			v := params["v"]
			if params["g"] == "config.k8s.io" && params["as"] == p.kind && (v == "v1alpha1" || v == "v1beta1") {
				return v, false, true
			}
		}
	}
	return "", false, false
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
