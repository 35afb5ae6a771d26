// Package admission is the contract between the write handlers and the plugins that
// mutate and validate objects between their decoding and their storage.
//
// A plugin implements MutatingInterface, ValidatingInterface or both. A Chain runs
// the mutating plugins in order, before the object is validated by its kind, and
// the validating ones afterwards; each phase ends at the first refusal, which is an
// API status error (NewForbidden). A mutating plugin that wants to see what later
// ones have changed asks for one more round (Attributes.Reinvoke).
//
// Plugins are called concurrently. They may change Attributes.Object in Admit only,
// in place or with Replace or Become. A plugin that decides by objects of the API
// waits at a Gate until it has seen those that exist.
//
// A program that embeds the server declares plugins of its own as Plugin. Webhooks, CEL policies
// and the configurations of plugins are in the packages below; plugins that know built-in
// kinds, and the table of all plugins, are in kubeapi/admission.
package admission
