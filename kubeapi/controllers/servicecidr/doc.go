// Package servicecidr makes ServiceCIDRs ready for Services to have IPs of them, and
// keeps those that are deleted until no IP in use depends on them, through the finalizer
// networking.k8s.io/service-cidr-finalizer (KEP-1880).
package servicecidr
