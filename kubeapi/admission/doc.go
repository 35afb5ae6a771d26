// Package admission holds the table of admission plugins and those of them that know
// built-in kinds, one file a plugin.
//
// Table lists all plugins in the order in which they run, with their names and
// whether they are on by default; New makes the enabled ones from Dependencies. The
// comment of each plugin's type says what it does, the flags that are its options,
// its metrics beside those of all plugins, and what its place in the order depends on; all plugins can be
// switched on and off by --enable-admission-plugins and --disable-admission-plugins. Those
// that read a configuration get it from --admission-control-config-file; plugins of a
// program that embeds the server (Dependencies.Own) run among them.
//
// Plugins read other objects through group.Stores: from the watch cache, and from
// storage where the cache does not have what a request refers to.
package admission
