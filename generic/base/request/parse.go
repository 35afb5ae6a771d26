package request

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
)

// Parse fills a zero Info from a request's method, decoded path and raw query:
//
//	/api/VERSION/[watch|proxy/]RESOURCE[/NAME[/SUBRESOURCE…]]
//	/api/VERSION/[watch|proxy/]namespaces/NAMESPACE/RESOURCE[/NAME[/SUBRESOURCE…]]
//	/apis/GROUP/VERSION/…as above
//
// Other paths are not resource requests. Parse does not check whether the resource exists. It returns an error
// if a path begins like that of a resource but names none.
func (i *Info) Parse(method, path, rawQuery string) error {
	i.Path = path
	parts := i.split(path)
	if !i.consumePrefix(&parts) {
		i.Verb = lowerMethod(method)
		return nil
	}
	i.IsResourceRequest = true
	if err := i.consumeVerb(&parts, method); err != nil {
		if rawQuery != "" {
			err = fmt.Errorf("%w?%s", err, rawQuery)
		}
		return err
	}
	i.consumeNamespace(&parts)
	i.Parts = parts
	i.Resource = parts[0]
	if len(parts) >= 2 {
		i.Name = parts[1]
	}
	// After proxy/ the path belongs to the target.
	if len(parts) >= 3 && i.Verb != "proxy" {
		i.Subresource = parts[2]
	}
	i.refineVerb(rawQuery)
	return nil
}

// split splits the path at its slashes, except leading and trailing ones.
func (i *Info) split(path string) []string {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	parts := i.parts[:0]
	for {
		at := strings.IndexByte(path, '/')
		if at < 0 {
			return append(parts, path)
		}
		parts = append(parts, path[:at])
		path = path[at+1:]
	}
}

// consumePrefix consumes api/VERSION or apis/GROUP/VERSION. It returns false if the path is not that of a
// resource.
func (i *Info) consumePrefix(parts *[]string) bool {
	p := *parts
	if len(p) < 3 {
		return false
	}
	switch p[0] {
	case "api":
		i.APIPrefix, i.APIVersion = p[0], p[1]
		*parts = p[2:]
	case "apis":
		i.APIPrefix = p[0]
		if len(p) < 4 {
			return false
		}
		i.APIGroup, i.APIVersion = p[1], p[2]
		*parts = p[3:]
	default:
		return false
	}
	return true
}

func (i *Info) consumeVerb(parts *[]string, method string) error {
	p := *parts
	if p[0] == "watch" || p[0] == "proxy" {
		if len(p) < 2 {
			return fmt.Errorf("unable to determine kind and namespace from url, %v", i.Path)
		}
		i.Verb = p[0]
		*parts = p[1:]
		return nil
	}
	switch method {
	case http.MethodGet, http.MethodHead:
		i.Verb = "get"
	case http.MethodPost:
		i.Verb = "create"
	case http.MethodPut:
		i.Verb = "update"
	case http.MethodPatch:
		i.Verb = "patch"
	case http.MethodDelete:
		i.Verb = "delete"
	}
	return nil
}

// consumeNamespace consumes namespaces/NAME if a resource follows. The subresources of a namespace belong to
// the resource "namespaces". A request for a namespace object is in that namespace.
func (i *Info) consumeNamespace(parts *[]string) {
	p := *parts
	if p[0] != "namespaces" || len(p) < 2 {
		return
	}
	i.Namespace = p[1]
	if len(p) > 2 && p[2] != "status" && p[2] != "finalize" {
		*parts = p[2:]
	}
}

// refineVerb distinguishes list and watch from get, and deletecollection from delete.
func (i *Info) refineVerb(rawQuery string) {
	if i.Name == "" {
		switch i.Verb {
		case "get":
			i.Verb = "list"
			if v, ok := QueryValue(rawQuery, "watch"); ok && v != "0" && !strings.EqualFold(v, "false") {
				i.Verb = "watch"
			}
			if rawQuery != "" {
				i.Name = exactName(rawQuery)
			}
		case "delete":
			i.Verb = "deletecollection"
		}
	}
	if rawQuery == "" {
		return
	}
	switch i.Verb {
	case "list", "watch", "deletecollection":
		i.FieldSelector, _ = QueryValue(rawQuery, "fieldSelector")
		i.LabelSelector, _ = QueryValue(rawQuery, "labelSelector")
	}
}

// exactName returns the name that a list's field selector requires, so that the list is authorized like a get
// of that name.
func exactName(rawQuery string) string {
	raw, _ := QueryValue(rawQuery, "fieldSelector")
	if !strings.Contains(raw, "metadata.name") {
		return ""
	}
	for _, number := range [...]string{"limit", "timeoutSeconds"} {
		if v, ok := QueryValue(rawQuery, number); ok && v != "" {
			if _, err := strconv.ParseInt(v, 10, 64); err != nil {
				return ""
			}
		}
	}
	sel, err := fields.ParseSelector(raw)
	if err != nil {
		return ""
	}
	name, ok := sel.RequiresExactMatch("metadata.name")
	if !ok || name == "." || name == ".." || strings.ContainsAny(name, "/%") {
		return ""
	}
	return name
}

// QueryValue returns the first value of a query parameter. It skips pairs that url.ParseQuery would reject.
func QueryValue(rawQuery, name string) (string, bool) {
	for rawQuery != "" {
		pair := rawQuery
		if at := strings.IndexByte(rawQuery, '&'); at >= 0 {
			pair, rawQuery = rawQuery[:at], rawQuery[at+1:]
		} else {
			rawQuery = ""
		}
		k, v, _ := strings.Cut(pair, "=")
		if pair == "" || strings.IndexByte(pair, ';') >= 0 {
			continue
		}
		if k != name {
			if strings.IndexByte(k, '%') < 0 && strings.IndexByte(k, '+') < 0 {
				continue
			}
			if u, err := url.QueryUnescape(k); err != nil || u != name {
				continue
			}
		}
		if u, err := url.QueryUnescape(v); err == nil {
			return u, true
		}
	}
	return "", false
}

func lowerMethod(method string) string {
	switch method {
	case http.MethodGet:
		return "get"
	case http.MethodPost:
		return "post"
	case http.MethodPut:
		return "put"
	case http.MethodHead:
		return "head"
	}
	return strings.ToLower(method)
}
