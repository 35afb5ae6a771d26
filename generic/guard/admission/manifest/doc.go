// Package manifest reads admission webhooks and policies from files (KEP-5793): the folder
// that staticManifestsDir of a plugin's configuration names. What is in force so is there from
// the start, whatever storage holds, cannot be changed through the API, and is asked about changes
// of the API's own webhooks and policies.
//
// All files of the folder with the endings .yaml, .yml and .json are read, as one: they are in
// force together, or what was read before is. Documents are decoded strictly, and are what the
// API would take, with names that end in Suffix. They refer to nothing that the API serves:
// webhooks have URLs, policies no params.
package manifest
