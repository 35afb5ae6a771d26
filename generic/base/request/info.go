package request

// Info is the result of parsing the path and the method of a request. The filter requestinfo parses them once.
type Info struct {
	// IsResourceRequest is false for paths like /healthz and /version.
	IsResourceRequest bool
	Path              string
	// Verb is the API verb of a resource request (get, list, watch, create, update, patch, delete,
	// deletecollection, proxy), and the lower-case method of any other.
	Verb string

	APIPrefix  string // "api" or "apis"
	APIGroup   string // "" for the core group
	APIVersion string
	Namespace  string
	// Resource is the plural. Subresource is for example "status". Parts are the path elements from the
	// resource on.
	Resource    string
	Subresource string
	Name        string
	Parts       []string

	// FieldSelector and LabelSelector are the raw selectors of list, watch and deletecollection, for
	// authorization.
	FieldSelector string
	LabelSelector string

	// parts is the array of Parts, which avoids an allocation for up to nine elements.
	parts [9]string
}

// Scope returns the label "scope" of metrics: resource, namespace or cluster, and "" for non-resource requests.
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
