package kubeapi

import "net"

// ServiceAddress is the cluster IP of the Service "kubernetes": the first address
// of a range behind the network's own.
func ServiceAddress(cidr *net.IPNet) net.IP {
	ip := cidr.IP.Mask(cidr.Mask)
	for i := len(ip) - 1; i >= 0; i-- {
		if ip[i]++; ip[i] != 0 {
			break
		}
	}
	return ip
}
