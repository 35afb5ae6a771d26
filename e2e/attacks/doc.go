// Package attacks tries to break into, starve or blind the built binary, over the
// network and with what an attacker can have: no credentials, or those of a user
// with few rights. Each test is one attack, and its comment says what the attacker
// would gain if it were not refused.
//
// What is tried where:
//
//	memory, by invented labels                    labels_test.go    also CVE-2020-8552
//	slots, streams and bodies held open           slots_test.go
//	one user's flood                              fairness_test.go
//	patches, documents, resets, long names        bodies_test.go    CVE-2019-1002100, CVE-2019-11253, CVE-2019-11254, CVE-2023-44487
//	nodes, mirror pods, tokens of pods            nodes_test.go     CVE-2021-25735, CVE-2022-3294, CVE-2025-4563, CVE-2025-5187
//	containers and secrets                        containers_test.go CVE-2023-2728, CVE-2024-3177
//	images                                        images_test.go    CVE-2023-2727
//	policies and webhooks                         policies_test.go  CVE-2020-8561
//	proxies, endpoints, external servers          proxies_test.go   CVE-2018-1002105, CVE-2020-8554, CVE-2020-8559, CVE-2021-25737, CVE-2021-25740, CVE-2022-3172
//	custom resources                              customresources_test.go CVE-2019-11247, CVE-2022-3162
//	forged tokens and keys                        tokens_test.go
//	old tokens, servers that allow everything     credentials_test.go
//	acting as others                              impersonation_test.go
//
// Elsewhere, since the attacker is on the machine, owns its DNS, or is a bug:
// a data directory that others may write (cmd/triplane/app), names of nodes that
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
