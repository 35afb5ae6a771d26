// Package control is what the controllers of kubeapi/controllers share.
//
//   - Feed follows the stored objects of all resources, with one tap on each multiplexer. It caches nothing:
//     handlers get an object's stored bytes and extract what they need, mostly a key for their queue. Other
//     objects are read from the server's watch caches, through Stores.
//   - Queue calls a controller's function for keys. It processes each key by one worker at a time, and retries
//     errors with exponential back-off.
//   - Env creates clients that impersonate a controller's service account, so that its bootstrap role applies and
//     audit events name it. All writes use them.
//   - Resources lists the resources that the server serves, and which of them external servers store.
//
// A controller is created whenever this replica starts to lead, and stops with its context.
package control
