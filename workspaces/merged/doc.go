// Package merged shows the keys of all workspaces as those of one server, for reads of a resource in all workspaces.
//
// A key "/registry/.workspaces/NAME.UID/configmaps/default/a" is "/registry/configmaps/default/a/NAME.UID" here: a
// cache over it has the objects of a name from all workspaces beside each other. Backend translates keys, and View, in
// addition, the values of one resource, which name the workspace that they are from. Nothing can be written.
package merged
