package harness

import (
	"cmp"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// Cluster is servers whose embedded etcds are one cluster, by the names of their members.
type Cluster struct {
	Servers map[string]*Server
	// Args are further ones of each server.
	Args []string
	// Program is that of each server, if it is not the built one.
	Program string
}

// Join starts a server, which joins another one if there is one.
func (c *Cluster) Join(t testing.TB, name string) {
	t.Helper()
	args := append([]string{
		"--embedded-etcd-name=" + name, fmt.Sprintf("--embedded-etcd-peer-listen=https://127.0.0.1:%d", FreePort(t)),
		fmt.Sprintf("--advertise-address=10.1.2.%d", name[0]),
	}, c.Args...)
	for _, other := range c.Servers {
		args = append(args, "--join="+other.Config.Host, "--join-kubeconfig="+other.Kubeconfig)
		break
	}
	if c.Servers == nil {
		c.Servers = map[string]*Server{}
	}
	s := Prepare(t, args...)
	s.Programs.Triplane = cmp.Or(c.Program, s.Programs.Triplane)
	s.Restart(t)
	c.Servers[name] = s
}

// Run runs a command of the program on a server's data directory.
func (c *Cluster) Run(t testing.TB, name string, args ...string) (string, error) {
	t.Helper()
	s := c.Servers[name]
	out, err := exec.CommandContext(t.Context(), s.Programs.Triplane, append(args, "--data-dir", s.DataDir)...).
		CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%v: %w\n%s", args, err, out)
	}
	return string(out), nil
}

// Members returns the names of members that have a role, as one of them sees it.
func (c *Cluster) Members(t testing.TB, through, role string) (names []string, err error) {
	t.Helper()
	out, err := c.Run(t, through, "member", "list")
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); err == nil && len(fields) > 3 && fields[3] == role {
			names = append(names, fields[0])
		}
	}
	return names, err
}
