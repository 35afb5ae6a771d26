package endpoints

import (
	"net/http"

	"triplane/generic/api/handlers"
	"triplane/generic/api/rest"
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
	// handler makes the handler if the storage has the verb, else nil.
	handler func(*Resource) http.HandlerFunc
}

// verbs is the table. Connect is not in it: its methods are the storage's.
var verbs = []verb{
	{
		action: "list", prefix: "list", discovery: "list", method: http.MethodGet, shapes: []shape{collection, everywhere}, main: true,
		writes: list, codes: []int{http.StatusOK}, params: listParams, doc: docList,
		handler: listOrWatch,
	},
	{
		action: "post", prefix: "create", discovery: "create", method: http.MethodPost, shapes: []shape{collection}, main: true,
		reads: object, writes: object, codes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted}, params: createParams, doc: docCreate,
		handler: create,
	},
	{
		action: "post", prefix: "create", discovery: "create", method: http.MethodPost, shapes: []shape{item}, sub: true,
		reads: object, writes: object, codes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted}, params: createParams, doc: docCreate,
		handler: create,
	},
	{
		action: "deletecollection", prefix: "delete", discovery: "deletecollection", method: http.MethodDelete, shapes: []shape{collection}, main: true,
		reads: deleteBody, writes: status, codes: []int{http.StatusOK}, params: deleteCollectionParams, doc: docDeleteCollection,
		handler: when(handlers.DeleteCollection),
	},
	{
		action: "watchlist", prefix: "watch", discovery: "watch", method: http.MethodGet, shapes: []shape{collection, everywhere}, watchPath: true, main: true,
		writes: watchEvent, codes: []int{http.StatusOK}, params: listParams, doc: docWatchList,
		handler: when(handlers.Watch),
	},
	{
		action: "get", prefix: "read", discovery: "get", method: http.MethodGet, shapes: []shape{item}, main: true, sub: true,
		writes: object, codes: []int{http.StatusOK}, doc: docRead,
		handler: get,
	},
	{
		action: "put", prefix: "replace", discovery: "update", method: http.MethodPut, shapes: []shape{item}, main: true, sub: true,
		reads: object, writes: object, codes: []int{http.StatusOK, http.StatusCreated}, params: updateParams, doc: docReplace,
		handler: when(handlers.Update),
	},
	{
		action: "patch", prefix: "patch", discovery: "patch", method: http.MethodPatch, shapes: []shape{item}, main: true, sub: true,
		reads: patchBody, writes: object, codes: []int{http.StatusOK, http.StatusCreated}, params: patchParams, doc: docPatch,
		handler: when(handlers.Patch),
	},
	{
		action: "delete", prefix: "delete", discovery: "delete", method: http.MethodDelete, shapes: []shape{item}, main: true, sub: true,
		reads: deleteBody, writes: deleted, codes: []int{http.StatusOK, http.StatusAccepted}, params: deleteParams, doc: docDelete,
		handler: when(handlers.Delete),
	},
	{
		action: "watch", prefix: "watch", discovery: "watch", method: http.MethodGet, shapes: []shape{item}, watchPath: true, main: true,
		writes: watchEvent, codes: []int{http.StatusOK}, params: listParams, doc: docWatch,
		handler: when(handlers.Watch),
	},
}

func listOrWatch(r *Resource) http.HandlerFunc {
	l, ok := r.storage.(rest.Lister)
	if !ok {
		return nil
	}
	w, _ := r.storage.(rest.Watcher)
	return handlers.List(r.scope, l, w)
}

func get(r *Resource) http.HandlerFunc {
	switch g := r.storage.(type) {
	case rest.GetterWithOptions:
		return handlers.GetWithOptions(r.scope, g)
	case rest.Getter:
		return handlers.Get(r.scope, g)
	}
	return nil
}

func create(r *Resource) http.HandlerFunc {
	switch c := r.storage.(type) {
	case rest.NamedCreater:
		return handlers.CreateNamed(r.scope, c)
	case rest.Creater:
		return handlers.Create(r.scope, c)
	}
	return nil
}

// when makes the handler of storages that implement S.
func when[S any](handler func(*handlers.RequestScope, S) http.HandlerFunc) func(*Resource) http.HandlerFunc {
	return func(r *Resource) http.HandlerFunc {
		if st, ok := r.storage.(S); ok {
			return handler(r.scope, st)
		}
		return nil
	}
}

// connectVerbs are the discovery verbs of a connecter's methods; others have
// none.
var connectVerbs = map[string]string{
	http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}
