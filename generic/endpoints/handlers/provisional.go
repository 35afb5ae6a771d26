package handlers

import (
	"net/http"

	"triplane/generic/registry/rest"
)

// Get serves get.
func Get(scope *RequestScope, r rest.Getter) http.HandlerFunc { return nil }

// GetWithOptions serves get of a subresource whose query carries more.
func GetWithOptions(scope *RequestScope, r rest.GetterWithOptions) http.HandlerFunc { return nil }

// List serves list, and watch where the query asks for it; w may be nil.
func List(scope *RequestScope, r rest.Lister, w rest.Watcher) http.HandlerFunc { return nil }

// Watch serves the paths under /watch/, which need no query to be a watch.
func Watch(scope *RequestScope, w rest.Watcher) http.HandlerFunc { return nil }

// Create serves create.
func Create(scope *RequestScope, r rest.Creater) http.HandlerFunc { return nil }

// CreateNamed serves create on a subresource of a named object.
func CreateNamed(scope *RequestScope, r rest.NamedCreater) http.HandlerFunc { return nil }

// Update serves update.
func Update(scope *RequestScope, r rest.Updater) http.HandlerFunc { return nil }

// Patch serves patch and apply.
func Patch(scope *RequestScope, r rest.Patcher) http.HandlerFunc { return nil }

// Delete serves delete.
func Delete(scope *RequestScope, r rest.GracefulDeleter) http.HandlerFunc { return nil }

// DeleteCollection serves deletecollection.
func DeleteCollection(scope *RequestScope, r rest.CollectionDeleter) http.HandlerFunc { return nil }

// Connect serves subresources that take over the connection.
func Connect(scope *RequestScope, r rest.Connecter) http.HandlerFunc { return nil }
