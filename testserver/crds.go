package testserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"
)

// InstallCRDs creates or replaces the CustomResourceDefinitions in files (YAML or JSON) and directories. It
// returns when discovery lists their resources. It ignores other objects.
func (s *Server) InstallCRDs(paths ...string) []*apiextensionsv1.CustomResourceDefinition {
	s.t.Helper()
	crds, err := readCRDs(paths)
	if err == nil && len(crds) == 0 {
		err = fmt.Errorf("no CustomResourceDefinition in %q", paths)
	}
	if err != nil {
		s.t.Fatalf("testserver: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := clientset.NewForConfig(s.Config())
	if err != nil {
		s.t.Fatalf("testserver: %v", err)
	}
	for _, crd := range crds {
		if err := install(ctx, client, crd); err != nil {
			s.t.Fatalf("testserver: %s: %v", crd.Name, err)
		}
	}
	for _, crd := range crds {
		if err := awaitServed(ctx, client.Discovery(), crd); err != nil {
			s.t.Fatalf("testserver: %s is not served: %v", crd.Name, err)
		}
	}
	return crds
}

// install creates or replaces a definition.
func install(ctx context.Context, client clientset.Interface, crd *apiextensionsv1.CustomResourceDefinition) error {
	crds := client.ApiextensionsV1().CustomResourceDefinitions()
	for {
		_, err := crds.Create(ctx, crd, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		found, err := crds.Get(ctx, crd.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		found.Spec, found.Labels, found.Annotations = crd.Spec, crd.Labels, crd.Annotations
		if _, err = crds.Update(ctx, found, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// awaitServed returns when discovery lists all served versions of a definition. It polls, because there is no
// event.
func awaitServed(
	ctx context.Context, client discovery.DiscoveryInterface, crd *apiextensionsv1.CustomResourceDefinition,
) error {
	var missing error
	err := wait.PollUntilContextCancel(ctx, time.Millisecond, true, func(context.Context) (bool, error) {
		missing = nil
		for _, v := range crd.Spec.Versions {
			if v.Served && missing == nil {
				missing = listed(client, crd.Spec.Group+"/"+v.Name, crd.Spec.Names.Plural)
			}
		}
		return missing == nil, nil
	})
	return errors.Join(err, missing)
}

// listed returns an error unless discovery lists a resource and its group.
func listed(client discovery.DiscoveryInterface, groupVersion, plural string) error {
	resources, err := client.ServerResourcesForGroupVersion(groupVersion)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == plural }) {
		return fmt.Errorf("%s does not contain %s", groupVersion, plural)
	}
	groups, err := client.ServerGroups()
	if err != nil {
		return err
	}
	for _, g := range groups.Groups {
		if slices.ContainsFunc(g.Versions,
			func(v metav1.GroupVersionForDiscovery) bool { return v.GroupVersion == groupVersion }) {
			return nil
		}
	}
	return fmt.Errorf("%s is not in the list of groups", groupVersion)
}

// readCRDs reads the definitions in files and directories.
func readCRDs(paths []string) (crds []*apiextensionsv1.CustomResourceDefinition, err error) {
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err != nil {
			return nil, err
		} else if info.IsDir() {
			if files, err = manifests(path); err != nil {
				return nil, err
			}
		}
		for _, file := range files {
			found, err := readFile(file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			crds = append(crds, found...)
		}
	}
	return crds, nil
}

// manifests returns the YAML and JSON files of a directory.
func manifests(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) && !e.IsDir() {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

// readFile reads the definitions among the documents of a file.
func readFile(name string) (crds []*apiextensionsv1.CustomResourceDefinition, err error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return crds, nil
		}
		if err != nil {
			return nil, err
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return nil, err
		}
		if kind.Kind != "CustomResourceDefinition" {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(document, crd); err != nil {
			return nil, err
		}
		crds = append(crds, crd)
	}
}
