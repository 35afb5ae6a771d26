package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"triplane.dev"
)

const kubeconfigUsage = `Prints the administrator's kubeconfig of a data directory.

Usage:
  triplane kubeconfig [flags]
`

// writeKubeconfig implements the command kubeconfig. It writes the administrator's kubeconfig of a data directory
// to out, optionally with another server URL. So it can be copied out of a container that contains only the
// program.
func writeKubeconfig(args []string, out io.Writer) error {
	fs := pflag.NewFlagSet("kubeconfig", pflag.ContinueOnError)
	dir := fs.String("data-dir", triplane.NewOptions().DataDir, "The data directory of the server.")
	server := fs.String("server", "", "The URL of the server for clients. If blank, the local URL.")
	if help, err := parse(fs, kubeconfigUsage, args, out); help || err != nil {
		return err
	}
	if err := noArguments(fs); err != nil {
		return err
	}
	path := filepath.Join(*dir, triplane.KubeconfigFile)
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("the data directory contains no administrator's kubeconfig: %w", err)
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if *server != "" {
		for _, cluster := range config.Clusters {
			cluster.Server = *server
		}
	}
	content, err = clientcmd.Write(*config)
	if err != nil {
		return err
	}
	_, err = out.Write(content)
	return err
}
