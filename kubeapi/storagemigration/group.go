package storagemigration

import (
	migrationv1beta1 "k8s.io/api/storagemigration/v1beta1"

	"triplane/generic/serve/server"
	"triplane/kubeapi/group"
)

// Group builds storagemigration.k8s.io/v1beta1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, migrationv1beta1.GroupName, "v1beta1")
	group.AddGated(b, "StorageVersionMigrator", migrationKind())
	return b.Info()
}
