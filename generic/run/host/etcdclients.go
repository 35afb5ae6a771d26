package host

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"

	"k8s.io/klog/v2"

	"triplane.dev/generic/run/pki"
	"triplane.dev/generic/run/storageoptions"
	"triplane.dev/generic/storage/embedded"
)

// EtcdClient returns the etcdctl arguments to connect to the embedded etcd; "" if its client API is not served.
func (s *Store) EtcdClient() string { return s.etcdClient }

// serveEtcdClients serves etcd's client API, if enabled, with the keys in a directory. It returns the etcdctl
// arguments to connect to it.
func serveEtcdClients(ctx context.Context, server *embedded.Server, o *storageoptions.Etcd,
	keys string) (string, error) {
	network, address, err := o.ListenAddress()
	if network == "" || err != nil {
		return "", err
	}
	if network == "unix" {
		listener, err := listenUnix(ctx, address)
		if err != nil {
			return "", err
		}
		server.Serve(listener, nil)
		return announce("--endpoints unix://" + address), nil
	}
	files, err := pki.EnsureStore(keys, pki.Config{Names: []string{"localhost"},
		IPs: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}})
	if err != nil {
		return "", err
	}
	config, err := etcdServerTLS(files)
	if err != nil {
		return "", err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if err != nil {
		return "", err
	}
	server.Serve(listener, config)
	return announce(fmt.Sprintf("--endpoints https://%s --cacert %s --cert %s --key %s", listener.Addr(), files.CACert,
		files.ClientCert, files.ClientKey)), nil
}

func announce(client string) string {
	klog.InfoS("Serving the client API of the embedded etcd, which bypasses authorization", "etcdctl", client)
	return client
}

// etcdServerTLS returns the TLS configuration of the client API, which requires client certificates.
func etcdServerTLS(files pki.StoreFiles) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(files.ServerCert, files.ServerKey)
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(files.CACert)
	if err != nil {
		return nil, err
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s contains no certificate", files.CACert)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
	}, nil
}

// listenUnix listens on a socket that only this user may open. It replaces the socket of a killed process.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("%s exists and is not a socket", path)
		}
		if conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path); err == nil {
			return nil, errors.Join(fmt.Errorf("another process listens on %s", path), conn.Close())
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}
