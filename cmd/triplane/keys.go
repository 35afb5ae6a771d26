package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"triplane.dev"
	"triplane.dev/generic/run/host"
	"triplane.dev/generic/run/pki"
)

const keysUsage = `Generates the keys that servers of one cluster share, in the directory pki of a data directory: the CAs, and
the key of service account tokens. Existing keys are kept.

Servers that create a cluster (--embedded-etcd-initial-cluster) or share an etcd (--etcd-servers) need copies
of that directory before their first start; --from copies them. The keys grant full access to the cluster.

Usage:
  triplane keys [flags]
`

// makeKeys implements the command keys. It prints the directory of the keys.
func makeKeys(ctx context.Context, args []string, out io.Writer) error {
	flags := pflag.NewFlagSet("keys", pflag.ContinueOnError)
	dir := flags.String("data-dir", triplane.NewOptions().DataDir, "The data directory.")
	from := flags.String("from", "",
		"Copy the keys from this directory, for example a mounted Secret, instead of generating them. It is an "+
			"error if other keys exist.")
	secret := flags.String("secret", "",
		"NAMESPACE/NAME of a Secret to create with the keys, in the cluster that will run the servers. A Secret that "+
			"exists is kept.")
	kubeconfig := flags.String("kubeconfig", "",
		"Kubeconfig of that cluster. If blank, the service account of the pod in which the command runs.")
	if help, err := parse(flags, keysUsage, args, out); help || err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	held, err := host.LockDataDir(*dir)
	if err != nil {
		return err
	}
	defer held.Release()
	keys := filepath.Join(*dir, "pki")
	if *from == "" {
		err = pki.EnsureShared(keys)
	} else {
		err = copyKeys(*from, keys)
	}
	if err != nil {
		return err
	}
	if *secret != "" {
		if err := createSecret(ctx, *secret, *kubeconfig, keys, out); err != nil {
			return fmt.Errorf("--secret %s: %w", *secret, err)
		}
	}
	_, err = fmt.Fprintln(out, keys)
	return err
}

// createSecret creates a Secret with the shared keys of a directory. It does not change one that exists, because
// servers then use its keys already.
func createSecret(ctx context.Context, secret, kubeconfig, keys string, out io.Writer) error {
	namespace, name, ok := strings.Cut(secret, "/")
	if !ok || namespace == "" || name == "" {
		return errors.New("it is not NAMESPACE/NAME")
	}
	files, err := pki.ReadShared(keys)
	if err != nil {
		return err
	}
	data := map[string][]byte{}
	for file, content := range files {
		data[pki.SecretKey(file)] = content
	}
	config, err := restclient.InClusterConfig()
	if kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		return err
	}
	config.Timeout = requestTimeout
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return err
	}
	immutable := true
	_, err = client.Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name},
		Data: data, Immutable: &immutable}, metav1.CreateOptions{})
	result := "created"
	if apierrors.IsAlreadyExists(err) {
		result, err = "kept, because it exists", nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "Secret %s %s\n", secret, result)
	return err
}

func copyKeys(from, to string) error {
	files, err := pki.ReadShared(from)
	if errors.Is(err, fs.ErrNotExist) {
		// A data directory has them in pki.
		if inData, err := pki.ReadShared(filepath.Join(from, "pki")); err == nil {
			return pki.WriteShared(to, inData)
		}
	}
	if err != nil {
		return fmt.Errorf("--from takes the directory pki of a data directory, or the data directory: %w", err)
	}
	return pki.WriteShared(to, files)
}
