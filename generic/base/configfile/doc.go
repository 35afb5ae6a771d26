// Package configfile reads configuration files of the group apiserver.config.k8s.io
// and follows them while the server runs.
//
// Decode is strict: unknown and repeated fields are errors. A Reloader loads a file
// again when its content has changed; a content that cannot be loaded leaves in
// force what was loaded before, is logged and counted, and is tried again.
package configfile
