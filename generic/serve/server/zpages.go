package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/munnerz/goautoneg"
	"sigs.k8s.io/yaml"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage/wire"
)

// zpage is a page for operators at /NAME (KEPs 4828 and 4827): text for people, or an object of config.k8s.io if
// the client accepts it.
type zpage struct {
	name, kind string
	text       func() string
	object     func() map[string]any
	cbor       bool // whether CBOR is supported
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
		responsewriters.WriteErrorAs(w, r, negotiation.NotAcceptable(p.mediaTypes()), p.rules())
	case form.version == "":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, zpageWarning, p.name)
		fmt.Fprint(w, p.text())
	default:
		if form.version != "v1beta1" {
			request.AddWarning(r.Context(),
				"This version of the "+p.name+" endpoint is deprecated. Please use a newer version.")
		}
		p.write(w, form)
	}
}

func (p *zpage) write(w http.ResponseWriter, f zform) {
	object := p.object()
	object["kind"], object["apiVersion"] = p.kind, zpageGroup+"/"+f.version
	object["metadata"] = map[string]any{"name": "apiserver"}
	b, err := marshalZPage(object, f.media)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", fmt.Sprintf("%s;g=%s;v=%s;as=%s", negotiation.Name(f.media), zpageGroup, f.version,
		p.kind))
	_, _ = w.Write(b)
}

func marshalZPage(object map[string]any, media wire.MediaType) ([]byte, error) {
	switch media {
	case wire.YAML:
		return yaml.Marshal(object)
	case wire.CBOR:
		return wire.AppendCBOR(nil, object)
	}
	return json.Marshal(object)
}

// rules returns the negotiation rules of objects.
func (p *zpage) rules() negotiation.Rules { return negotiation.Rules{CBOR: p.cbor} }

// mediaTypes returns all media types of a page, in the order of error messages.
func (p *zpage) mediaTypes() []string {
	return slices.Insert(p.rules().MediaTypes(), 2, "text/plain")
}

const zpageGroup = "config.k8s.io"

// zform is a form of a page: text, or an object of a version in a media type.
type zform struct {
	media   wire.MediaType
	version string
}

// accepted returns the supported form that an Accept header prefers.
func (p *zpage) accepted(accept string) (zform, bool) {
	if accept == "" {
		return zform{}, true
	}
	for _, item := range goautoneg.ParseAccept(accept) {
		media, params := item.Type+"/"+item.SubType, item.Params
		switch media {
		case "text/plain", "text/*", "*/*":
			return zform{}, true
		}
		v := params["v"]
		if mt, ok := p.rules().Parse(media); ok && params["g"] == zpageGroup && params["as"] == p.kind &&
			(v == "v1alpha1" || v == "v1beta1") {
			return zform{mt, v}, true
		}
	}
	return zform{}, false
}

// installZPages serves /flagz, if the flags are known, and /statusz, unless disabled.
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
			cbor:   p.config.CBOR,
		})
	}
	if p.config.NoStatus {
		return
	}
	mux.Handle("/statusz", &zpage{name: "statusz", kind: "Statusz", text: p.statusText, object: p.status,
		cbor: p.config.CBOR})
}

// statusPaths are the paths that /statusz lists.
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
	return fmt.Sprintf("\nStarted  %s\nUp  %d hr %02d min %02d sec\nGo version  %s\n"+
		"Binary version  %s\nEmulation version  %s.%s\nPaths  %s\n",
		started.Format(time.UnixDate), up/3600, up/60%60, up%60, v.GoVersion,
		strings.TrimPrefix(v.GitVersion, "v"), v.EmulationMajor, v.EmulationMinor, strings.Join(statusPaths, " "))
}
