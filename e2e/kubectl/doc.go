// Package kubectl drives the built server with kubectl, as people do.
package kubectl
