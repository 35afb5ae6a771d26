package endpoints

import (
	"net/http"

	"triplane.dev/generic/api/handlers"
	"triplane.dev/generic/api/rest"
)

// shape is the form of a verb's path.
type shape uint8

const (
	collection shape = iota // resources, namespaces/{namespace}/resources
	item                    // resources/{name}, resources/{name}/subresource
	everywhere              // resources, of all namespaces
)

// body names what a request or answer carries.
type body uint8

const (
	noBody body = iota
	object
	list
	patchBody
	deleteBody
	watchEvent
	status
	deleted // the object or a Status
)

// verb is a row of the table of verbs.
type verb struct {
	// action is how OpenAPI calls it, prefix how the operation id begins.
	action string
	prefix string
	// discovery is the verb in the list of resources and in request.Info.
	discovery string
	method    string
	shapes    []shape
	// watchPath puts the deprecated /watch/ before the resource.
	watchPath bool
	// main and sub report whether resources and subresources can have it.
	main, sub bool
	reads     body
	writes    body
	codes     []int
	params    paramSet
	doc       func(*Resource) string
	// has reports whether a resource has the verb, whose handler handler makes.
	has     func(*rest.Resource) bool
	handler func(*handlers.RequestScope) http.HandlerFunc
}

// verbs is the table. Connect is not in it: its methods are the resource's.
var verbs = []verb{
	{
		action: "list", prefix: "list", discovery: "list", method: http.MethodGet, shapes: []shape{collection, everywhere},
		main:   true,
		writes: list, codes: []int{http.StatusOK}, params: listParams, doc: docList,
		has: func(r *rest.Resource) bool { return r.List != nil }, handler: handlers.List,
	},
	{
		action: "post", prefix: "create", discovery: "create", method: http.MethodPost, shapes: []shape{collection},
		main:  true,
		reads: object, writes: object, codes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted},
		params: createParams, doc: docCreate,
		has: func(r *rest.Resource) bool { return r.Create != nil }, handler: handlers.Create,
	},
	{
		action: "post", prefix: "create", discovery: "create", method: http.MethodPost, shapes: []shape{item}, sub: true,
		reads: object, writes: object, codes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted},
		params: createParams, doc: docCreate,
		has: func(r *rest.Resource) bool { return r.Create != nil }, handler: handlers.Create,
	},
	{
		action: "deletecollection", prefix: "delete", discovery: "deletecollection", method: http.MethodDelete,
		shapes: []shape{collection}, main: true,
		reads: deleteBody, writes: status, codes: []int{http.StatusOK}, params: deleteCollectionParams,
		doc: docDeleteCollection,
		has: func(r *rest.Resource) bool { return r.DeleteCollection != nil }, handler: handlers.DeleteCollection,
	},
	{
		action: "watchlist", prefix: "watch", discovery: "watch", method: http.MethodGet,
		shapes: []shape{collection, everywhere}, watchPath: true, main: true,
		writes: watchEvent, codes: []int{http.StatusOK}, params: listParams, doc: docWatchList,
		has: watches, handler: handlers.Watch,
	},
	{
		action: "get", prefix: "read", discovery: "get", method: http.MethodGet, shapes: []shape{item}, main: true, sub: true,
		writes: object, codes: []int{http.StatusOK}, doc: docRead,
		has: func(r *rest.Resource) bool { return r.Get != nil }, handler: handlers.Get,
	},
	{
		action: "put", prefix: "replace", discovery: "update", method: http.MethodPut, shapes: []shape{item},
		main: true, sub: true,
		reads: object, writes: object, codes: []int{http.StatusOK, http.StatusCreated}, params: updateParams, doc: docReplace,
		has: func(r *rest.Resource) bool { return r.Update != nil }, handler: handlers.Update,
	},
	{
		action: "patch", prefix: "patch", discovery: "patch", method: http.MethodPatch, shapes: []shape{item},
		main: true, sub: true,
		reads: patchBody, writes: object, codes: []int{http.StatusOK, http.StatusCreated}, params: patchParams, doc: docPatch,
		has: (*rest.Resource).Patches, handler: handlers.Patch,
	},
	{
		action: "delete", prefix: "delete", discovery: "delete", method: http.MethodDelete, shapes: []shape{item},
		main: true, sub: true,
		reads: deleteBody, writes: deleted, codes: []int{http.StatusOK, http.StatusAccepted}, params: deleteParams,
		doc: docDelete,
		has: func(r *rest.Resource) bool { return r.Delete != nil }, handler: handlers.Delete,
	},
	{
		action: "watch", prefix: "watch", discovery: "watch", method: http.MethodGet, shapes: []shape{item}, watchPath: true,
		main:   true,
		writes: watchEvent, codes: []int{http.StatusOK}, params: listParams, doc: docWatch,
		has: watches, handler: handlers.Watch,
	},
}

// watches reports whether a resource can be watched.
func watches(r *rest.Resource) bool { return r.Watch != nil }

// connectVerbs are the discovery verbs of the methods of Connect; others have
// none.
var connectVerbs = map[string]string{
	http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch",
	http.MethodDelete: "delete",
}
