// Package platform has the calls of operating systems that differ between Unix and Windows: file locks, free disk
// space, mapped files, owners, socket options and the meaning of errors. Other packages compile everywhere without
// build tags; internal/imports tests it. docs/platforms.md lists what a platform lacks.
package platform
