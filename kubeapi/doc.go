// Package kubeapi is the core server: every built-in API group, a folder each, a
// file a kind.
//
// Config.Complete().New(delegate) builds the server; groups.go lists its groups.
// What the server creates for itself is in bootstrap, admission plugins that know
// built-in kinds are in admission. Groups do not import each other; what several
// of them use is in other folders: group (building a group, finding another's
// objects), check (rules for values), defaults, strategy (bookkeeping of writes),
// show (tables), podspec and workload (pods and what makes them), quota, event.
package kubeapi
