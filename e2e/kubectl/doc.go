// Package kubectl drives the built server with kubectl, and with Helm, as people do.
package kubectl
