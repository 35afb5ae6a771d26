package main

const usage = `Triplane serves the Kubernetes API: built-in kinds, CustomResourceDefinitions and
external API servers, from one process.

Without flags it keeps everything below .triplane in the current directory and
listens on https://127.0.0.1:6443. Flags have the names that they have at
kube-apiserver.

Usage:
  triplane [flags]
  triplane etcd [flags]          runs an etcd, with etcd's own flags; so does the program under the name etcd
  triplane envtest-assets DIR    lays out the programs that envtest of controller-runtime looks for
  triplane snapshot …            saves, shows and restores snapshots of the embedded store
  triplane store verify          verifies the files of the embedded store
  triplane console [flags]       opens the console of a running server, signed in
  triplane status [flags]        shows how a running server does
  triplane export|import FILE    moves objects between servers, stores and releases, as YAML
  triplane member list|remove    shows and removes members of an embedded cluster
  triplane keys [flags]          makes the keys that servers of one cluster have in common
  triplane kubeconfig [flags]    writes the administrator's kubeconfig of a data directory, for clients elsewhere
`
