// Package durable writes files that survive a power failure: what WriteFile has returned from is
// on the disk, content and name, and what it has not returned from is there as it was before, or as
// it was to become, whole.
//
//	durable.WriteFile(path, content, mode)       // replaces a file
//	durable.Write(path, mode, func(w io.Writer) error { … })
//	durable.MkdirAll(dir, mode)                  // instead of os.MkdirAll
//
// The content is synced before the file gets its name, and the directory after: a file system may
// otherwise have a name on the disk whose content is not there yet, or has lost a name whose content is.
//
// A file of ours that must not be lost is written this way, and no other; internal/imports tests it.
package durable
