// Package discovery shows clients which groups, versions and resources a server
// has: the documents at /api, /apis, /apis/GROUP and /apis/GROUP/VERSION, and the
// aggregated form of the first two (apidiscovery.k8s.io/v2), which shows all at
// once.
//
// Groups is the set of what is served. Versions enter and leave it while the
// server runs, in any order; documents list groups by their priority, then by
// name, and the versions of a group by theirs, then by their names as Kubernetes
// compares versions (v2, v1, v1beta1). A document is made when it is asked for
// the first time after a change, from parts that are kept for each group, so
// that one of a thousand groups can change without work for the others.
//
// A chain of servers shares one Groups. An aggregator makes a second one, in
// which priorities are those of APIServices, and copies what is local from the
// first with Get.
package discovery
