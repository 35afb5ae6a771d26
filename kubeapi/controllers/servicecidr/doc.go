// Package servicecidr sets the condition Ready of ServiceCIDRs, and delays their removal until no cluster IP in
// use depends on them, with the finalizer networking.k8s.io/service-cidr-finalizer (KEP-1880).
package servicecidr
