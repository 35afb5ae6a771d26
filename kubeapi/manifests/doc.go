// Package manifests applies the files of a directory to a server (--manifests), and keeps them applied.
//
// Applier reads all YAML and JSON files of a directory tree, applies their objects by server-side apply with the field
// manager FieldManager, and deletes objects that were removed from the files. It repeats that when files change, and at
// an interval. CustomResourceDefinitions and Namespaces are applied first; objects whose kind is not served yet are
// retried with back-off.
//
// The config map InventoryName in kube-system lists the objects that were applied, so that removals are noticed after
// restarts, and by other replicas. An object is deleted only if its annotation SourceAnnotation still names its file.
// Objects of files that cannot be read or parsed are kept, and so is everything if the directory cannot be read.
//
// Files are hostile input: their number, size and objects are bounded, other files than regular ones are skipped, and
// directories that are symbolic links are not followed. Files that are links are followed, as in mounted config maps.
package manifests
