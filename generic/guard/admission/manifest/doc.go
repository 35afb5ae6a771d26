// Package manifest reads admission webhooks and policies from files (KEP-5793), in the directory
// staticManifestsDir of a plugin's configuration. They are in effect from the start of the server, whatever is
// stored. They cannot be changed through the API, and they also see writes of webhooks and policies.
//
// All files of the directory that end in .yaml, .yml or .json are loaded together. If one is invalid, the
// manifests of the last successful load stay in effect. Decoding is strict. Objects must be valid for the API
// and have names that end in Suffix. They must not depend on the API: webhooks need URLs, policies cannot have
// params.
package manifest
