package options

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Member is an embedded etcd that has others beside it, or may have.
type Member struct {
	// Listen is where it listens to the others, https:// and an address; "" has none.
	Listen string
	// Advertise is where they find it; "" is where it listens.
	Advertise string
	// Name is what they call it; "" is the name of the host.
	Name string
	// Initial are the members that a cluster is begun with, NAME=URL, comma separated, this one among
	// them; "" is this one alone. It is for a directory that holds no member yet.
	Initial string
	// Joining says that the Initial members run already, and expect this one.
	Joining bool
}

func (m *Member) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&m.Listen, "embedded-etcd-peer-listen", m.Listen,
		"Where the embedded etcd listens to other members of its cluster: https:// with an address and a port, such as https://10.0.0.1:2380. "+
			"They know each other by certificates of DATA/pki/etcd/peer-ca.crt. If blank, it is alone.")
	fs.StringVar(&m.Advertise, "embedded-etcd-peer-advertise", m.Advertise,
		"Where other members find the embedded etcd, https:// with a host and a port. If blank, --embedded-etcd-peer-listen.")
	fs.StringVar(&m.Name, "embedded-etcd-name", m.Name, "What this member of the embedded etcd is called. If blank, as the host.")
	fs.StringVar(&m.Initial, "embedded-etcd-initial-cluster", m.Initial,
		"The members that a cluster is begun with: name=https://host:port, comma separated, this one among them. All start with the same keys (triplane keys). "+
			"It is of no use once the data directory holds a member.")
}

// peerURL parses the URL of a member.
func peerURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err == nil && (u.Scheme != "https" || u.Hostname() == "" || u.Port() == "" || strings.Trim(u.Path, "/") != "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		err = errors.New("it has to be https:// with a host and a port and nothing else, such as https://10.0.0.1:2380")
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// name is the member's.
func (m *Member) name() (string, error) {
	if m.Name != "" {
		return m.Name, nil
	}
	return os.Hostname()
}

// initial are the initial members' URLs by name.
func (m *Member) initial() (map[string]string, error) {
	if m.Initial == "" {
		return nil, nil
	}
	members, seen := map[string]string{}, []string{}
	for entry := range strings.SplitSeq(m.Initial, ",") {
		name, text, is := strings.Cut(strings.TrimSpace(entry), "=")
		if !is || name == "" {
			return nil, fmt.Errorf("%q is not NAME=URL", entry)
		}
		u, err := peerURL(text)
		if err != nil {
			return nil, err
		}
		if members[name] != "" || slices.Contains(seen, u.String()) {
			return nil, fmt.Errorf("%s is there twice", entry)
		}
		members[name], seen = u.String(), append(seen, u.String())
	}
	return members, nil
}

// resolved is a member with nothing left open.
type resolved struct {
	name, listen string
	url          *url.URL
	initial      map[string]string
}

// resolve decides what was left open; nil where there are no other members.
func (m *Member) resolve() (*resolved, error) {
	if m.Listen == "" {
		if *m != (Member{}) {
			return nil, errors.New("the other flags of members need --embedded-etcd-peer-listen")
		}
		return nil, nil
	}
	listen, err := peerURL(m.Listen)
	if err != nil {
		return nil, fmt.Errorf("--embedded-etcd-peer-listen: %w", err)
	}
	r := &resolved{listen: listen.Host, url: listen}
	if r.name, err = m.name(); err != nil {
		return nil, fmt.Errorf("--embedded-etcd-name: %w", err)
	}
	if r.initial, err = m.initial(); err != nil {
		return nil, fmt.Errorf("--embedded-etcd-initial-cluster: %w", err)
	}
	if strings.ContainsAny(r.name, ",= ") {
		return nil, fmt.Errorf("--embedded-etcd-name: a name like %q cannot be listed", r.name)
	}
	own := r.initial[r.name]
	if len(r.initial) > 0 && own == "" {
		return nil, fmt.Errorf("--embedded-etcd-initial-cluster has no member %q, as this one is called: name it with --embedded-etcd-name", r.name)
	}
	for _, text := range []string{own, m.Advertise} {
		if text == "" {
			continue
		}
		if r.url, err = peerURL(text); err != nil {
			return nil, fmt.Errorf("--embedded-etcd-peer-advertise: %w", err)
		}
	}
	if own != "" && own != r.url.String() {
		return nil, fmt.Errorf("--embedded-etcd-peer-advertise is %s, but --embedded-etcd-initial-cluster has this member at %s", r.url, own)
	}
	if ip := net.ParseIP(r.url.Hostname()); ip != nil && ip.IsUnspecified() {
		return nil, fmt.Errorf("other members cannot find this one at %s: set --embedded-etcd-peer-advertise", r.url)
	}
	return r, nil
}

// Self is this member's name, and where others find it.
func (m *Member) Self() (name, url string, err error) {
	r, err := m.resolve()
	if r == nil || err != nil {
		return "", "", err
	}
	return r.name, r.url.String(), nil
}

func (m *Member) validate() []error {
	if _, err := m.resolve(); err != nil {
		return []error{err}
	}
	return nil
}

// MayHavePeers reports whether the embedded etcd is, or may become, one of several.
func (o *Etcd) MayHavePeers() bool { return o.Member.Listen != "" }
