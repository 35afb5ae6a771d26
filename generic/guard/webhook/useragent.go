package webhook

// UserAgent is the User-Agent of calls to admission and conversion webhooks. It is that of kube-apiserver, as webhooks
// may check it.
const UserAgent = "kube-apiserver-admission"
