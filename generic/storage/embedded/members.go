package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
)

// changeWithin bounds a change of the members.
const changeWithin = 10 * time.Second

// Member is one of a cluster.
type Member struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"` // none before it has started
	// URL is where the others find it; none where nothing listens for others.
	URL string `json:"peerURL,omitempty"`
	// Learner says that it does not vote yet: it fetches what is stored.
	Learner bool `json:"learner,omitempty"`
	Leader  bool `json:"leader,omitempty"`
}

// ErrNoCluster says that a server does not listen for other members.
var ErrNoCluster = errors.New("the embedded etcd is alone: start it with --embedded-etcd-peer-listen to have other members")

// ErrMembersBusy says that the members cannot be changed at this moment.
var ErrMembersBusy = errors.New("the members cannot be changed now")

// MembersError is why members are not changed, in words for operators.
type MembersError struct{ message string }

func (e *MembersError) Error() string { return e.message }

func refuse(format string, args ...any) error { return &MembersError{fmt.Sprintf(format, args...)} }

// Members are those of the cluster, by name. The only one of a server that does not listen for others has
// no URL: etcd has one for it, at which nobody listens.
func (s *Server) Members() []Member {
	all := s.known()
	for i := range all {
		if !s.clustered {
			all[i].URL = ""
		}
	}
	return all
}

// known are the members as etcd has them, by name.
func (s *Server) known() []Member {
	var all []Member
	for _, m := range s.etcd.Cluster().Members() {
		all = append(all, Member{
			ID: m.ID.String(), Name: m.Name, URL: strings.Join(m.PeerURLs, ","), Learner: m.IsLearner, Leader: m.ID == s.etcd.Leader(),
		})
	}
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Name+" "+a.ID, b.Name+" "+b.ID) })
	return all
}

// memberURL parses the URL of a member. It has a scheme, a host and a port: the members show each other's
// URLs to clients, in which a password would be, and connect with certificates alone.
func memberURL(text string) (types.URLs, error) {
	urls, err := types.NewURLs([]string{text})
	if err != nil {
		return nil, err
	}
	if u := urls[0]; u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, fmt.Errorf("%s is not https:// with a host and a port and nothing else", u.Redacted())
	}
	return urls, nil
}

// AddMember adds a member at a URL, as a learner: it does not vote before it has caught up, so that
// one that never starts does no harm. Adding a member again that has not started yet is no error.
//
//   - *MembersError: it cannot be added as things are.
//   - ErrMembersBusy: another one joins, or the cluster is not well.
//   - ErrNoCluster: this server does not listen for others.
func (s *Server) AddMember(ctx context.Context, name, url string) error {
	if !s.clustered {
		return ErrNoCluster
	}
	urls, err := memberURL(url)
	if err != nil || name == "" || strings.ContainsAny(name, ",= ") {
		return refuse("a member needs a name and a URL, https:// with a host and a port and nothing else")
	}
	for _, m := range s.Members() {
		switch {
		case m.Name == name:
			return refuse("there is a member %s (%s at %s): remove it first, or choose another name", name, m.ID, m.URL)
		case m.URL == url && m.Name == "" && m.Learner:
			return nil
		case m.URL == url:
			return refuse("there is a member at %s (%s, %s): remove it first", url, m.Name, m.ID)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, changeWithin)
	defer cancel()
	now := time.Now()
	_, err = s.etcd.AddMember(ctx, *membership.NewMemberAsLearner("", urls, "", &now))
	return explain(err)
}

// RemoveMember removes a member by its name or ID.
//
//   - *MembersError: there is none.
//   - ErrMembersBusy: the others would have no majority.
//   - ErrNoCluster: this server does not listen for others.
func (s *Server) RemoveMember(ctx context.Context, which string) error {
	if !s.clustered {
		return ErrNoCluster
	}
	members := s.Members()
	i := slices.IndexFunc(members, func(m Member) bool { return which != "" && (m.ID == which || m.Name == which) })
	if i < 0 {
		return refuse("there is no member %q", which)
	}
	if len(members) == 1 {
		return refuse("%s is the only member", which)
	}
	id, err := types.IDFromString(members[i].ID)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, changeWithin)
	defer cancel()
	_, err = s.etcd.RemoveMember(ctx, uint64(id))
	return explain(err)
}

// explain turns etcd's reasons not to change the members into errors of this package.
func explain(err error) error {
	switch {
	case errors.Is(err, membership.ErrTooManyLearners):
		return fmt.Errorf("%w: another one joins; wait for it, or remove it if it will not come", ErrMembersBusy)
	case errors.Is(err, etcderrors.ErrUnhealthy), errors.Is(err, etcderrors.ErrNotEnoughStartedMembers):
		return fmt.Errorf("%w: too few of the others have been reachable for some seconds", ErrMembersBusy)
	}
	return translate(err)
}
