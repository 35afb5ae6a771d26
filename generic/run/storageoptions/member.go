package storageoptions

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

// Member configures the embedded etcd as a member of a cluster.
type Member struct {
	// Listen is the https:// URL on which it listens for peers; "" disables peers.
	Listen string
	// Advertise is the URL that peers use; "" means Listen.
	Advertise string
	// Name is the member's name; "" means the host name.
	Name string
	// Initial lists the members of a new cluster: NAME=URL, comma separated. "" means this member only. It applies
	// only to a directory without a member. A list without this member is an error in EmbeddedConfig.
	Initial string
	// Joining means that the Initial members run already, and have added this one.
	Joining bool
	// Release is that of embedded.Config.
	Release string
}

func (m *Member) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&m.Listen, "embedded-etcd-peer-listen", m.Listen,
		"Where the embedded etcd listens for peers: https:// with an address and a port, such as "+
			"https://10.0.0.1:2380. Peers authenticate with certificates of DATA/pki/etcd/peer-ca.crt. If blank, it "+
			"has no peers.")
	fs.StringVar(&m.Advertise, "embedded-etcd-peer-advertise", m.Advertise,
		"The URL of the embedded etcd for peers: https:// with a host and a port. If blank, "+
			"--embedded-etcd-peer-listen.")
	fs.StringVar(&m.Name, "embedded-etcd-name", m.Name,
		"The name of this member of the embedded etcd's cluster. If blank, the host name.")
	fs.StringVar(&m.Initial, "embedded-etcd-initial-cluster", m.Initial,
		"The members of a new cluster: name=https://host:port, comma separated. All must start with the same keys "+
			"(triplane keys). A server that is not one of them needs --join. It is ignored if the data directory "+
			"contains a member.")
}

// peerURL parses the URL of a member.
func peerURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err == nil && (u.Scheme != "https" || u.Hostname() == "" || u.Port() == "" || strings.Trim(u.Path, "/") != "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		err = errors.New("it must be https:// with a host and a port and nothing else, such as https://10.0.0.1:2380")
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// name returns the member's name.
func (m *Member) name() (string, error) {
	if m.Name != "" {
		return m.Name, nil
	}
	return os.Hostname()
}

// initial returns the URLs of the initial members by name.
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
			return nil, fmt.Errorf("%s is listed twice", entry)
		}
		members[name], seen = u.String(), append(seen, u.String())
	}
	return members, nil
}

// resolved is a Member with all defaults.
type resolved struct {
	name, listen string
	url          *url.URL
	initial      map[string]string
}

// resolve sets defaults; it returns nil without peers.
func (m *Member) resolve() (*resolved, error) {
	if m.Listen == "" {
		if *m != (Member{Release: m.Release}) {
			return nil, errors.New("the other --embedded-etcd-… flags of members need --embedded-etcd-peer-listen")
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
		return nil, fmt.Errorf("--embedded-etcd-name: the name %q must not contain commas, equals signs and spaces",
			r.name)
	}
	own := r.initial[r.name]
	for _, text := range []string{own, m.Advertise} {
		if text == "" {
			continue
		}
		if r.url, err = peerURL(text); err != nil {
			return nil, fmt.Errorf("--embedded-etcd-peer-advertise: %w", err)
		}
	}
	if own != "" && own != r.url.String() {
		return nil, fmt.Errorf("--embedded-etcd-peer-advertise is %s, but --embedded-etcd-initial-cluster has this "+
			"member at %s", r.url, own)
	}
	if ip := net.ParseIP(r.url.Hostname()); ip != nil && ip.IsUnspecified() {
		return nil, fmt.Errorf("other members cannot find this one at %s: set --embedded-etcd-peer-advertise", r.url)
	}
	return r, nil
}

// Self returns this member's name and peer URL, and whether it is one of the Initial members.
func (m *Member) Self() (name, url string, initial bool, err error) {
	r, err := m.resolve()
	if r == nil || err != nil {
		return "", "", false, err
	}
	return r.name, r.url.String(), r.initial[r.name] != "", nil
}

func (m *Member) validate() []error {
	if _, err := m.resolve(); err != nil {
		return []error{err}
	}
	return nil
}

// MayHavePeers reports whether the embedded etcd is, or may become, a member of a cluster of several.
func (o *Etcd) MayHavePeers() bool { return o.Member.Listen != "" }

// MayHaveReplicas reports whether other servers may use the same storage.
func (o *Etcd) MayHaveReplicas() bool { return !o.Embedded() || o.MayHavePeers() }
