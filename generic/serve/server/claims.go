package server

import (
	"triplane.dev/generic/serve/mux"
	"triplane.dev/generic/serve/requestmetrics"
)

// ServerName implements DelegationTarget.
func (s *GenericAPIServer) ServerName() string { return s.Name }

// Claims implements DelegationTarget.
func (s *GenericAPIServer) Claims() []mux.Claim { return s.Handler.Claims() }

// ClaimOf implements DelegationTarget.
func (s *GenericAPIServer) ClaimOf(q mux.Inquiry) (mux.Claim, bool) { return s.Handler.ClaimOf(q) }

func (emptyDelegate) ServerName() string  { return requestmetrics.ByNone }
func (emptyDelegate) Claims() []mux.Claim { return nil }
func (emptyDelegate) ClaimOf(q mux.Inquiry) (mux.Claim, bool) {
	return mux.Claim{Path: q.Info.Path, Rule: mux.RuleNone}, true
}
