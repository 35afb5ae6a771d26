package storagemigration

import (
	migrationv1 "k8s.io/api/storagemigration/v1"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

// Group builds storagemigration.k8s.io.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, migrationv1.GroupName, "v1", "v1beta1")
	group.AddGated(b, "StorageVersionMigrator", migrationKind())
	return b.Info()
}
