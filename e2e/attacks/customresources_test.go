package attacks

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// zoo are two kinds of custom resources in namespaces, and one that is cluster-wide.
const zoo = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: cats.zoo.example.com}
spec: {group: zoo.example.com, scope: Namespaced, names: {plural: cats, singular: cat, kind: Cat, listKind: CatList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: dogs.zoo.example.com}
spec: {group: zoo.example.com, scope: Namespaced, names: {plural: dogs, singular: dog, kind: Dog, listKind: DogList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: keepers.zoo.example.com}
spec: {group: zoo.example.com, scope: Cluster, names: {plural: keepers, singular: keeper, kind: Keeper, listKind: KeeperList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}
`

func (s *target) openZoo() {
	s.t.Helper()
	s.apply(zoo)
	s.Kubectl(s.t, "wait", "--for=condition=Established", "crd/cats.zoo.example.com", "crd/dogs.zoo.example.com",
		"crd/keepers.zoo.example.com")
	s.eventually("the zoo is open", 10*time.Second, func() bool {
		_, err := s.TryKubectl(s.t, "apiVersion: zoo.example.com/v1\nkind: Dog\nmetadata: {name: rex, namespace: victim}\nbone: buried\n", "apply", "-f", "-")
		return err == nil
	})
	s.apply("apiVersion: zoo.example.com/v1\nkind: Keeper\nmetadata: {name: head}\nkey: golden\n")
}

// A cluster-wide custom resource is asked for in a namespace. The attacker, who may
// do anything in a namespace, would read and write what is everybody's.
func clusterWideInNamespace(_ *testing.T, s *target) {
	s.openZoo()
	for _, path := range []string{"/keepers", "/keepers/head"} {
		for _, method := range []string{"GET", "DELETE"} {
			s.as("").refused(404, "", method, "/apis/zoo.example.com/v1/namespaces/default"+path, "")
		}
	}
	s.as("").refused(404, "", "POST", "/apis/zoo.example.com/v1/namespaces/default/keepers", "apiVersion: zoo.example.com/v1\nkind: Keeper\nmetadata: {name: evil}\n")
}

// Paths that lead, below the resource that a user may read, to another. The
// attacker, who may list one kind everywhere, would read all kinds of the group.
func pathsToOthers(_ *testing.T, s *target) {
	s.openZoo()
	for _, path := range []string{
		"namespaces/..%2Fdogs/cats", "namespaces/..%2F..%2Fdogs/cats/rex", "namespaces/%2E%2E/cats",
		"namespaces/victim%2F..%2F..%2Fdogs/cats",
		"namespaces/victim/cats/..%2F..%2Fdogs%2Fvictim%2Frex", "cats/..%2Fdogs", "namespaces/../dogs/cats",
		"namespaces/./cats", "namespaces/victim/cats/..",
	} {
		for _, query := range []string{"", "?limit=1"} {
			code, answer := s.as("mallory").do("GET", "/apis/zoo.example.com/v1/"+path+query, "")
			if strings.Contains(answer, "buried") || code == http.StatusOK && strings.Contains(answer, "Dog") {
				s.t.Errorf("%s%s: %d %s", path, query, code, answer)
			}
		}
	}
}
