package policy

import (
	"testing"

	"triplane.dev/kubeapi/kindtest"
)

func TestDisruptionBudget(t *testing.T) {
	k := disruptionBudgetKind()
	kindtest.Declared(t, k, "poddisruptionbudgets poddisruptionbudget PodDisruptionBudget namespaced short=pdb status")
	kindtest.Refused(t, k, "spec: {minAvailable: 101%}", `spec.minAvailable: Invalid value: "101%": must not be greater than 100%`)
}
