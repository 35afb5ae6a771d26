package main

const usage = `Triplane serves the Kubernetes API: built-in kinds, CustomResourceDefinitions and
external API servers, from one process.

Without flags it stores everything below .triplane in the current directory and
listens on https://127.0.0.1:6443. Flags have the names of kube-apiserver's.

Usage:
  triplane [flags]
  triplane etcd [flags]          runs an etcd for tests; so does the program under the name etcd
  triplane test [flags]          starts a server for tests in any language, which ends with them
  triplane envtest-assets DIR [flags]
                                 creates the programs that envtest of controller-runtime needs; flags are defaults
                                 of their servers
  triplane snapshot …            saves, verifies and restores snapshots of the embedded etcd
  triplane store verify          verifies the files of the embedded etcd
  triplane console [flags]       opens the console of a running server, logged in
  triplane status [flags]        prints the status of a running server
  triplane export|import FILE    moves objects between servers, storages and releases, as YAML
  triplane member list|remove    lists and removes members of the embedded etcd's cluster
  triplane workspace …           creates, lists and deletes workspaces, and prints their kubeconfig
  triplane keys [flags]          generates the keys that servers of one cluster share
  triplane help [COMMAND]        prints this text, or the flags of a command
  triplane version               prints the version
  triplane kubeconfig [flags]    prints the administrator's kubeconfig of a data directory
`
