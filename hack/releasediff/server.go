package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// server is a running API server of one release, for administrators. Its certificate is not verified: what it serves is
// compared, not used.
type server struct {
	url, token string
	client     *http.Client
}

func newServer(url, token string) *server {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	return &server{url: strings.TrimSuffix(url, "/"), token: token, client: &http.Client{Transport: transport, Timeout: time.Minute}}
}

// Sections of what servers serve.
const (
	resources = "Resources in discovery"
	models    = "Fields in OpenAPI"
	created   = "Objects of a fresh server"
)

// freshObjects are the lists whose objects a fresh server creates.
var freshObjects = []string{
	"/api/v1/namespaces", "/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	"/apis/rbac.authorization.k8s.io/v1/roles", "/apis/rbac.authorization.k8s.io/v1/rolebindings",
	"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
	"/apis/scheduling.k8s.io/v1/priorityclasses",
}

// read adds what the server serves to the facts.
func (s *server) read(f facts) error {
	for _, step := range []func(facts) error{s.readDiscovery, s.readModels, s.readCreated} {
		if err := step(f); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) readDiscovery(f facts) error {
	var groups struct {
		Groups []struct {
			Versions []struct{ GroupVersion string }
		}
	}
	if err := s.get("/apis", &groups); err != nil {
		return err
	}
	paths := []string{"/api/v1"}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			paths = append(paths, "/apis/"+v.GroupVersion)
		}
	}
	for _, path := range paths {
		var list struct {
			Resources []struct {
				Name, Kind        string
				Verbs, ShortNames []string
			}
		}
		if err := s.get(path, &list); err != nil {
			return err
		}
		for _, r := range list.Resources {
			slices.Sort(r.Verbs)
			f.set(resources, path+"/"+r.Name, fmt.Sprint(r.Kind, r.Verbs, r.ShortNames))
		}
	}
	return nil
}

func (s *server) readModels(f facts) error {
	var document struct {
		Definitions map[string]struct {
			Required   []string
			Properties map[string]struct {
				Type, Format string
				Enum         []any
				Default      any
			}
		}
	}
	if err := s.get("/openapi/v2", &document); err != nil {
		return err
	}
	for name, d := range document.Definitions {
		for property, p := range d.Properties {
			f.set(models, name+"."+property, fmt.Sprint(p.Type, p.Format, p.Enum, p.Default, slices.Contains(d.Required, property)))
		}
	}
	return nil
}

func (s *server) readCreated(f facts) error {
	for _, path := range freshObjects {
		var list struct {
			Items []map[string]any
		}
		if err := s.get(path, &list); err != nil {
			return err
		}
		for _, object := range list.Items {
			metadata, _ := object["metadata"].(map[string]any)
			namespace, _ := metadata["namespace"].(string)
			name := fmt.Sprint(path, " ", namespace, "/", metadata["name"])
			delete(object, "metadata")
			delete(object, "status")
			content, err := json.Marshal(object)
			if err != nil {
				return err
			}
			f.set(created, name, string(content))
		}
	}
	return nil
}

// get reads a document of the server.
func (s *server) get(path string, into any) error {
	r, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.token)
	response, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s%s: %s %w", s.url, path, response.Status, err)
	}
	return json.Unmarshal(body, into)
}
