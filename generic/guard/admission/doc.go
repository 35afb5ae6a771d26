// Package admission is the contract between the write handlers and the admission plugins, which mutate and
// validate objects between decoding and storage.
//
// A plugin implements MutatingInterface, ValidatingInterface or both. A Chain runs the mutating plugins in
// order, then the kind validates the object, then the Chain runs the validating plugins. A phase ends at the
// first denial, which is an API status error (NewForbidden). A mutating plugin that must see the changes of
// later plugins requests a second round (Attributes.Reinvoke).
//
// Plugins are called concurrently. They may change Attributes.Object only in Admit: in place, or with Replace
// or Become. A plugin that depends on objects of the API waits at a Gate until these are synced.
//
// A program that embeds the server declares its plugins as Plugin. Webhooks, CEL policies and the
// configurations of plugins are in the packages below. Plugins that depend on built-in kinds, and the table of
// all plugins, are in kubeapi/admission.
package admission
