// Package kindtest tests the built-in kinds: by their declarations, with the
// functions of declared.go, and by stories.
//
// A story is a YAML file in testdata of the folder of its kind. It is the kind's
// documentation by example, and a test: Play sends its requests to a server and
// compares the answers. The first document is prose; each further one is a step:
//
//	# Replicas cannot be negative.
//	POST /apis/apps/v1/namespaces/deployment/deployments:
//	  metadata: {name: web}
//	  spec: {replicas: -1}
//	user: alice developers
//	422:
//	- 'spec.replicas: Invalid value: -1: must be greater than or equal to 0'
//	warnings: []
//
// The request line is a method and a path. The methods are HTTP's (PATCH sends a
// JSON merge patch) and
//
//	APPLY, STRATEGIC, JSONPATCH   PATCH with another media type; APPLY forces nothing
//	TABLE                         GET of what kubectl prints
//	WATCH                         the first events of a watch; name a resourceVersion
//
// Below it stands the body, to which the server adds apiVersion and kind. Then
// come, all of them optional:
//
//	user   the client: a name and groups, instead of an administrator
//	save   variables by the path of a field of the answer; ${name} stands for the
//	       value in later steps
//
// and last the answer: the status code, and under it
//
//   - a mapping: these fields of the object have these values; null says that a
//     field is absent, lists are compared as a whole
//   - of a list of objects, a sequence: the names of its items
//   - of an invalid object, a sequence: all causes
//   - of another error, a string: the message
//   - of TABLE, the text of the table, with * at columns of "-o wide"
//   - of WATCH, a sequence of events: [ADDED: {metadata: {name: a}}]
//   - nothing: the status code alone is compared
//
// and warnings, which are compared always. UIDs, times of this hour, ages and
// resource versions are shown as <uid>, <time>, <age> and <version>; <any> stands
// for any value, and " ..." at the end of a text for the rest of it.
//
// A story has a namespace of its file's name to itself (dots and underscores
// become dashes), with the service account "default". Names of cluster-scoped
// objects are unique among all stories, as they share a server.
//
// With -rewrite, answers that differ are replaced by what came, where a null may
// stand for a value still to be filled in. Review the difference: the test cannot
// know which of the two is right.
package kindtest
