// Package servicecidr marks ServiceCIDRs as ready, and keeps deleted ones until no cluster IP in use
// depends on them, by the finalizer networking.k8s.io/service-cidr-finalizer (KEP-1880).
package servicecidr
