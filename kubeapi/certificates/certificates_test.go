package certificates

import (
	"context"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/kubeapi/kindtest"
)

func TestWhoAsksCannotBeForged(t *testing.T) {
	r := &csr{}
	r.Spec.Username, r.Spec.Groups = "admin", []string{"system:masters"}
	ctx := request.WithUser(context.Background(), &user.Info{Name: "alice", Groups: []string{"devs"}})
	signingRequestKind(nil).Write.Prepare(ctx, r, nil)
	if r.Spec.Username != "alice" || len(r.Spec.Groups) != 1 || r.Spec.Groups[0] != "devs" {
		t.Errorf("got %+v", r.Spec)
	}
}

func TestValidation(t *testing.T) {
	kindtest.Refused(t, signingRequestKind(nil), "{}",
		"spec.request: Invalid value: null: PEM block type must be CERTIFICATE REQUEST", "spec.usages: Required value", "spec.signerName: Required value")
}

func TestApprovalIsFinal(t *testing.T) {
	old := &csr{}
	old.Status.Conditions = append(old.Status.Conditions, conditionOf("Approved"))
	errs := validateUpdate(&csr{}, old)
	if len(errs) != 1 || errs[0].Detail != `updates may not remove a condition of type "Approved"` {
		t.Errorf("got %v", errs)
	}
	if errs := validateStatusUpdate(context.Background(), old, &csr{}); len(errs) != 1 {
		t.Errorf("status may not approve, got %v", errs)
	}
}

func conditionOf(t certificatesv1.RequestConditionType) certificatesv1.CertificateSigningRequestCondition {
	return certificatesv1.CertificateSigningRequestCondition{Type: t, Status: "True"}
}
