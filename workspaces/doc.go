// Package workspaces serves API servers for tenants in one process. A workspace is a separate chain of servers, with
// its own discovery, CustomResourceDefinitions, RBAC and controllers, at /workspaces/NAME/ of the server's URL.
//
// # A request's way
//
// The filters of the root chain run once. The filter "workspace" (Filters) parses the prefix, removes it from the URL,
// and records the name in request.State.Workspace. Authentication and Authorization of this package then decide by that
// name: users are those of the root, while service accounts, roles and bindings are those of the workspace. The
// innermost filter "workspaces" calls the Handler of the workspace's chain instead of the root's Director.
//
// # The Manager
//
// Manager follows the Workspace objects, which the root chain stores, and has an entry for each of them. The chain of a
// workspace is created by the first request that needs it, a few at once. It stops after Config.IdleTimeout without
// requests. The root package creates chains with the constructors of the root chain; it passes
// the function to Manager.SetCreate.
//
// # Storage
//
// The keys of a workspace are below Path(NAME, UID) of the server's prefix, in the same storage. No resource begins
// with a dot, so no key of the root is among them. All workspaces have the resource versions of the storage. Each
// write in a workspace is conditional on a key that its deletion changes first (see existence), so that a replica which
// has not learned of the deletion cannot write; the UID separates the keys from those of a later workspace of the name.
//
// What a new server has is shown and not stored (see Defaults), so a workspace that is only read stores nothing.
//
// # Due work
//
// A workspace that falls asleep stores when its controllers have work next (see due). Any replica wakes it then.
package workspaces
