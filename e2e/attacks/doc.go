// Package attacks tries to break into, starve or blind the built binary, over the
// network and with what an attacker can have: no credentials, or those of a user
// with few rights. Each test is one attack, and its comment says what the attacker
// would gain if it were not refused.
//
// What is tried where:
//
//	memory, by invented labels                    labels_test.go    also CVE-2020-8552
//	slots, streams and bodies held open           slots_test.go
//	responses and files that are not taken        stalled_test.go
//	tokens of the console                         console_test.go
//	external servers that hang or drip            slots_test.go
//	one user's flood                              fairness_test.go
//	patches, documents, resets, owners, names     bodies_test.go    CVE-2019-1002100, CVE-2019-11253, CVE-2019-11254, CVE-2023-44487
//	levels, expressions, insertions, paths        work_test.go
//	many values of one object                     values_test.go
//	errors, patterns                              errors_test.go
//	nodes, mirror pods, tokens of pods            nodes_test.go     CVE-2021-25735, CVE-2022-3294, CVE-2025-4563, CVE-2025-5187
//	devices                                       claims_test.go
//	containers and secrets                        containers_test.go CVE-2023-2728, CVE-2024-3177
//	images                                        images_test.go    CVE-2023-2727
//	policies and webhooks                         policies_test.go  CVE-2020-8561
//	proxies, endpoints, external servers          proxies_test.go   CVE-2018-1002105, CVE-2020-8554, CVE-2020-8559, CVE-2021-25737, CVE-2021-25740, CVE-2022-3172
//	pods behind proxies, egress                   upstream_test.go  CVE-2018-1002105, CVE-2020-8559
//	custom resources                              customresources_test.go CVE-2019-11247, CVE-2022-3162
//	forged tokens and keys                        tokens_test.go
//	old tokens, servers that allow everything     credentials_test.go
//	acting as others                              impersonation_test.go
//	workspaces of others                          workspaces_test.go, e2e/workspaces
//
// # Defences
//
// Each of these lines of code was taken away by itself, and the test named beside it
// failed. An attack is in this package where no package is named; "and" joins defences
// behind each other, of which the attack sees only that all are gone.
//
//	labels for known resources only               InventedLabels with names of any length; generic/serve/filters HostileRequests, FuzzLabels
//	  of the open watches, of timeouts, of methods generic/serve/filters HostileRequests
//	  of bounded length                           generic/serve/filters AnswersToAnything
//	  of a bounded number                         generic/base/metrics SeriesAreBounded
//	deadlines of writes                           AnswersThatAreNotTaken
//	documents unpacked as they are taken          ResponsesThatAreNotTaken plain; generic/api/openapi DocumentsAreUnpackedAsTheyAreTaken
//	seats of what waits for its client            ResponsesThatAreNotTaken; generic/serve/server StalledStreamsHoldNoSeats; generic/serve/filters StalledResponsesGiveSeatsBack, BodiesThatDoNotCome
//	console files without a slot for who does not take them
//	                                              FilesThatAreNotTaken; generic/serve/filters StalledFilesDoNotCount
//	memory of what waits for its client           generic/serve/filters StalledResponsesAreBounded
//	connections that take nothing                 generic/serve/server StalledConnectionsAreClosed; generic/serve/filters StalledResponsesEnd
//	proxied responses, and backends, that stall   aggregator ProxiedResponsesThatAreNotTaken, BackendsThatStall
//	console tokens: their users, impersonation, others' tokens
//	                                              TokensOfTheConsole; console TokensEndWithTheirUsers, TokensAreNotProlonged, TokensAreBounded
//	proxied pages have no part in the console     e2e/console PagesOfPodsAreSandboxed; generic/serve/filters ProxiedPagesAreSandboxed
//	audit of what needs no user                   generic/serve/filters AuditOfWhatNeedsNoUser
//	deadlines of bodies                           BodiesThatNeverCome
//	buffers that grow with what arrives           BodiesThatNeverCome
//	half bodies end with the server               HalfBodiesDoNotDelayShutdown
//	what is left of a body after its answer       HalfBodiesDoNotDelayShutdown
//	connections of the unknown end                HalfBodiesDoNotDelayShutdown; generic/serve/filters UnknownClientsReconnect
//	probes without a slot                         AnswersThatAreNotTaken
//	streams of a connection                       StreamsPerConnection
//	echoes of bounded length                      RefusalsAreShort, long names
//	priority and fairness                         OneUserFloods
//	operations and copies of patches              a patch of copies, one each
//	size of bodies                                generic/api/handlers Requests
//	levels of bodies and patches                  patches of many levels; generic/storage/wire Depth
//	levels of messages in protobuf                a schema of half a million levels; generic/storage/wire ProtobufDepth
//	type parameters in expressions                expressions that take long
//	moved elements of lists                       a patch of insertions; generic/storage/jsonpatch MovesAreBounded
//	time of a webhook's patch                     generic/guard/admission/webhook PatchesOutlastTheirWebhooks
//	paths of values                               wrong values below a long name; generic/storage/wire Paths
//	length of messages                            fields that are wrong by the hundred thousand
//	searches that end with their context          patterns of long texts; apiextensions/schema LongTexts
//	errors, items, fields and defaults of a value  custom resources of many values; apiextensions/schema
//	                                              ManyErrorsAreBounded, ValidationEndsWithItsContext, DefaultsAreBounded;
//	                                              generic/api/managedfields ApplyOfLargeObjectsEnds, UnorderedSetsAreDropped
//	number of owners                              objects that thousands own; generic/api/managedfields FloodOfEntries
//	NodeRestriction: claims of mirror pods (spec, status, ephemeral volumes), owners, audiences
//	                                              the attacks of nodes_test.go, one each
//	NodeRestriction: secrets, certificates, trust bundles, tokens, taints, claims' status, slices, requests for certificates, tokens of drivers behind claims
//	                                              kubeapi/admission NodeRestriction, NodesAskForTheirOwnCertificates
//	the node graph without mirror pods, with ephemeral volumes
//	                                              kubeapi/nodeauthorizer Authorize, FuzzGraph
//	the mirror annotation comes and goes not (update, status, binding)
//	                                              pods that become mirror pods, one each
//	mirror pods without secrets, tokens, accounts, and with a node
//	                                              mirror pods with secrets, one each
//	the parts of a claim's status, by whom they are, and on which node; admin access
//	                                              the status of claims; kubeapi/resource StatusAccess
//	params of policies and of bindings            policies that read secrets, one each
//	endpoints of pods of the namespace (the namespace and the pod's addresses; the reference)
//	                                              endpoints of other namespaces
//	loopback, link-local and multicast endpoints  endpoints at loopback addresses, one each
//	loopback nodes, loopback pods                 nodes at loopback addresses; ProxiedPods
//	endpoints are not in the role edit            editors write endpoints
//	external addresses at creation and update     external addresses of Services, one each
//	constrained impersonation: no masters, no empty groups, both permissions, no groups for service accounts, no nodes as users
//	                                              constrained impersonation, one each
//	  no empty keys, no service accounts as users, nodes have names, and are in their group
//	                                              generic/serve/filters ConstrainedImpersonation
//	  the pod's own node alone                    generic/serve/filters AssociatedNode
//	legacy tokens: invalidated, of another Secret, of none; their use recorded
//	                                              LegacyTokens, one each
//	bound tokens end with their object, are for an audience
//	                                              generic/guard/authentication/serviceaccount BoundTokens
//	mountable secrets: env, envFrom, volumes, projected volumes, init and ephemeral containers, pull secrets, words for true
//	                                              secrets by envFrom, secrets in ephemeral containers, one each
//	anonymous requests off with AlwaysAllow       AlwaysAllow
//	panics of goroutines                          internal/worker
//	a data directory of everybody                 generic/run/host DataDirOfEverybody
//	headers and audit ids of external servers     headers of an external API server, one each
//	redirects of external servers, of webhooks    a redirecting API server, a redirecting webhook
//	upgrades that failed end the connection       an upgrade that failed, a redirected upgrade, ProxiedPods, with a proxy that only copies
//	credentials end here: tokens, X-Remote-…, WebSocket subprotocols
//	                                              ProxiedPods; generic/serve/filters CredentialsStayOutside, generic/guard/authentication WebSocket, aggregator ForwardedRequest, Upgrade
//	answers of webhooks of bounded length         answers of webhooks without an end; generic/guard/admission/webhook AnswersThatMakeNoSense
//	answers of conversion webhooks likewise       answers of webhooks without an end
//	answers of issuers likewise                   generic/guard/authentication/jwt EndlessDocuments
//	keys of issuers are held                      InventedKeyIDs
//	audiences of issuers' tokens                  ForgedTokens
//	scope of custom resources                     cluster-wide resources in a namespace
//	the old object in admission                   old nodes in admission
//	images of init and ephemeral containers, at updates
//	                                              ForbiddenImages, one each
//	Pod Security of ephemeral containers          ephemeral containers without a policy
//
// Libraries hold these, so that no line of the repository could be taken away: the
// bounds of aliases and of depth in documents (sigs.k8s.io/yaml and json), redirected
// and failed upgrades (k8s.io/apimachinery's proxy), algorithms and signatures of
// tokens (go-jose, go-oidc), handlers of streams that are reset (golang.org/x/net/http2).
//
// Others are no lines, but how it is built: a list reads the cache of its own resource,
// whatever is in the key, so that paths lead to no other custom resources.
//
// No test fails without these: the time for the header of a request, 32 seconds, and
// for bytes of an HTTP/2 answer, a minute, as no test waits that long.
//
// Elsewhere, since the attacker is on the machine, owns its DNS, or is a bug:
// a data directory that others may write (app_test.go), names of nodes that
// move between check and use (CVE-2020-8562, kubeapi/core/proxy), panics of
// goroutines (internal/worker).
//
// Published vulnerabilities that cannot be here: those of kubelets, kube-proxy,
// ingress controllers, kubectl and cloud providers (CVE-2019-1002101, CVE-2020-8558,
// CVE-2021-25742, CVE-2022-2385, CVE-2023-5528, CVE-2024-10220 and their like), as
// none of them is part of the binary; CVE-2022-1996, a filter for other origins of
// go-restful, which is not used; CVE-2020-8555, the volumes of
// kube-controller-manager; CVE-2019-11248, profiles at a port without
// authentication, as there is one port.
package attacks
