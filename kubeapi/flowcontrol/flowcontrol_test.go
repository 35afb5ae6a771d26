package flowcontrol

import (
	"context"
	"testing"

	"triplane.dev/generic/guard/flowcontrol"
	"triplane.dev/kubeapi/kindtest"
)

func TestDefaultsOfTheServerAreValid(t *testing.T) {
	for _, s := range flowcontrol.DefaultSchemas() {
		if errs := flowSchemaKind().Write.Validate(context.Background(), s, nil); len(errs) > 0 {
			t.Errorf("%s: %v", s.Name, errs)
		}
	}
	for _, l := range flowcontrol.DefaultLevels() {
		if errs := priorityLevelKind().Write.Validate(context.Background(), l, nil); len(errs) > 0 {
			t.Errorf("%s: %v", l.Name, errs)
		}
	}
}

func TestPriorityLevel(t *testing.T) {
	l := kindtest.New(t, priorityLevelKind(), "spec: {type: Limited, limited: {limitResponse: {type: Queue, queuing: {}}}}").Spec.Limited
	if *l.NominalConcurrencyShares != 30 || l.LimitResponse.Queuing.Queues != 64 || l.LimitResponse.Queuing.HandSize != 8 {
		t.Errorf("unexpected defaults %+v", l)
	}
	kindtest.Refused(t, priorityLevelKind(), "metadata: {name: x}\nspec: {type: Limited, limited: {limitResponse: {type: Queue, queuing: {queues: 1024, handSize: 64}}}}",
		"spec.limited.limitResponse.queuing.handSize: Invalid value: 64: required entropy bits of deckSize 1024 and handSize 64 should not be greater than 60")
	kindtest.Refused(t, priorityLevelKind(), "metadata: {name: x}\nspec: {type: Exempt}",
		"spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'")
}
