package resource

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"triplane/generic/authentication/user"
)

func TestDriverVerbs(t *testing.T) {
	onNode := func(key string, names ...string) *corev1.NodeSelector {
		return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: names}}}}}
	}
	withLabels := onNode("metadata.name", "n")
	withLabels.NodeSelectorTerms[0].MatchExpressions = []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpExists}}
	const account = "system:serviceaccount:ns:driver"
	for name, c := range map[string]struct {
		user     string
		node     []string
		selector *corev1.NodeSelector
		want     []string
	}{
		"on the node":            {account, []string{"n"}, onNode("metadata.name", "n"), []string{"associated-node:update", "arbitrary-node:update"}},
		"on another node":        {account, []string{"m"}, onNode("metadata.name", "n"), []string{"arbitrary-node:update"}},
		"on no node":             {account, nil, onNode("metadata.name", "n"), []string{"arbitrary-node:update"}},
		"not a service account":  {"alice", []string{"n"}, onNode("metadata.name", "n"), []string{"arbitrary-node:update"}},
		"one of two nodes":       {account, []string{"n"}, onNode("metadata.name", "n", "m"), []string{"arbitrary-node:update"}},
		"by another field":       {account, []string{"n"}, onNode("metadata.uid", "n"), []string{"arbitrary-node:update"}},
		"by labels, too":         {account, []string{"n"}, withLabels, []string{"arbitrary-node:update"}},
		"allocated for any node": {account, []string{"n"}, nil, []string{"arbitrary-node:update"}},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &resourcev1.ResourceClaim{Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{NodeSelector: c.selector}}}
			who := &user.Info{Name: c.user, Extra: map[string][]string{nodeNameKey: c.node}}
			if got := driverVerbs(who, "update", claim); !slices.Equal(got, c.want) {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestChangedDrivers(t *testing.T) {
	device := func(driver, name, data string) resourcev1.AllocatedDeviceStatus {
		d := resourcev1.AllocatedDeviceStatus{Driver: driver, Pool: "p", Device: name}
		if data != "" {
			d.NetworkData = &resourcev1.NetworkDeviceData{InterfaceName: data}
		}
		return d
	}
	was := []resourcev1.AllocatedDeviceStatus{device("same", "a", "x"), device("gone", "a", ""), device("changed", "a", "x")}
	now := []resourcev1.AllocatedDeviceStatus{device("changed", "a", "y"), device("same", "a", "x"), device("added", "a", "")}
	if got := changedDrivers(now, was); !slices.Equal(got, []string{"added", "changed", "gone"}) {
		t.Errorf("%v", got)
	}
}
