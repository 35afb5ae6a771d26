package request

// Info is what the path and the method of a request say about what it wants.
// It is parsed once, by the requestinfo filter.
type Info struct {
	// IsResourceRequest is false for paths like /healthz and /version.
	IsResourceRequest bool
	Path              string
	// Verb is the API verb for resources (get, list, watch, create, update,
	// patch, delete, deletecollection, proxy) and the lower-case method else.
	Verb string

	APIPrefix  string // "api" or "apis"
	APIGroup   string // "" for the core group
	APIVersion string
	Namespace  string
	// Resource is the plural, Subresource e.g. "status"; Parts are the path
	// elements from the resource on.
	Resource    string
	Subresource string
	Name        string
	Parts       []string

	// FieldSelector and LabelSelector are the raw selectors of list, watch and
	// deletecollection, for authorization.
	FieldSelector string
	LabelSelector string

	// parts is where the path's elements live, unless there are more.
	parts [10]string
}

// Scope is how much a request is about, as metrics have it: a resource, those of a
// namespace or of the cluster; "" for requests that are about no resource.
func (i *Info) Scope() string {
	switch {
	case !i.IsResourceRequest:
		return ""
	case i.Name != "" || i.Verb == "create":
		return "resource"
	case i.Namespace != "":
		return "namespace"
	}
	return "cluster"
}
