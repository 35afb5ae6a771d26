// Package admission has the table of admission plugins, and the plugins that depend on built-in kinds, one file
// or folder per plugin.
//
// Table lists all plugins in the order in which they run, with their names and defaults. New creates the enabled
// ones from Dependencies. The comment of each plugin's type describes its effect, its options, its metrics in
// addition to those of all plugins, and what its place in the order depends on.
//
// All plugins can be enabled and disabled with --enable-admission-plugins and --disable-admission-plugins. Plugins
// with a configuration read it from --admission-control-config-file. Plugins of a program that embeds the server
// (Dependencies.Own) are part of the chain.
//
// Plugins read other objects through group.Stores: from the watch cache, and from storage if an object is missing
// there.
package admission
