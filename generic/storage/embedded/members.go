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

// changeWithin limits the duration of a membership change.
const changeWithin = 10 * time.Second

// Member is a member of a cluster.
type Member struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"` // "" before its first start
	// URL is the URL for other members. It is "" if this server does not listen for them.
	URL string `json:"peerURL,omitempty"`
	// Learner is set while the member does not vote, because it has not caught up.
	Learner bool `json:"learner,omitempty"`
	Leader  bool `json:"leader,omitempty"`
}

// ErrNoCluster means that a server does not listen for other members.
var ErrNoCluster = errors.New("the embedded etcd is alone: start it with --embedded-etcd-peer-listen to have other members")

// ErrMembersBusy means that the members cannot be changed at this moment.
var ErrMembersBusy = errors.New("the members cannot be changed now")

// MembersError is the reason, for operators, why a membership change is rejected.
type MembersError struct{ message string }

func (e *MembersError) Error() string { return e.message }

func membersError(format string, args ...any) error {
	return &MembersError{fmt.Sprintf(format, args...)}
}

// Members returns the members of the cluster by name. If this server does not listen for others, its member has
// no URL: the one in etcd is a placeholder.
func (s *Server) Members() []Member {
	all := s.known()
	for i := range all {
		if !s.clustered {
			all[i].URL = ""
		}
	}
	return all
}

// known returns the members with etcd's URLs, by name.
func (s *Server) known() []Member {
	var all []Member
	for _, m := range s.etcd.Cluster().Members() {
		all = append(all, Member{
			ID: m.ID.String(), Name: m.Name, URL: strings.Join(m.PeerURLs, ","), Learner: m.IsLearner,
			Leader: m.ID == s.etcd.Leader(),
		})
	}
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Name+" "+a.ID, b.Name+" "+b.ID) })
	return all
}

// memberURL parses the URL of a member: scheme, host and port. It must not contain a password, because members
// send URLs to clients and authenticate with certificates only.
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

// AddMember adds a member as a learner. A learner does not vote until it has caught up, so that one that never
// starts does no harm. Adding the same member again before its start is not an error.
//
//   - *MembersError: the member conflicts with another one.
//   - ErrMembersBusy: another member is joining, or too few members are connected.
//   - ErrNoCluster: this server does not listen for other members.
func (s *Server) AddMember(ctx context.Context, name, url string) error {
	if !s.clustered {
		return ErrNoCluster
	}
	urls, err := memberURL(url)
	if err != nil || name == "" || strings.ContainsAny(name, ",= ") {
		return membersError("a member needs a name and a URL, https:// with a host and a port and nothing else")
	}
	for _, m := range s.Members() {
		switch {
		case m.Name == name:
			return membersError("member %s (%s at %s) already exists: remove it with \"triplane member remove\" "+
				"or choose another --embedded-etcd-name", name,
				m.ID, m.URL)
		case m.URL == url && m.Name == "" && m.Learner:
			return explain(s.cancelDowngrade(ctx))
		case m.URL == url:
			return membersError("a member at %s (%s, %s) already exists: remove it with \"triplane member "+
				"remove\"", url, m.Name, m.ID)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, changeWithin)
	defer cancel()
	now := time.Now()
	if _, err = s.etcd.AddMember(ctx, *membership.NewMemberAsLearner("", urls, "", &now)); err != nil {
		return explain(err)
	}
	return explain(s.cancelDowngrade(ctx))
}

// RemoveMember removes a member by its name or ID.
//
//   - *MembersError: there is no such member.
//   - ErrMembersBusy: the remaining members would have no majority.
//   - ErrNoCluster: this server does not listen for other members.
func (s *Server) RemoveMember(ctx context.Context, which string) error {
	if !s.clustered {
		return ErrNoCluster
	}
	members := s.Members()
	i := slices.IndexFunc(members, func(m Member) bool { return which != "" && (m.ID == which || m.Name == which) })
	if i < 0 {
		return membersError("member %q does not exist: \"triplane member list\" prints the names "+
			"(--embedded-etcd-name) and IDs", which)
	}
	if len(members) == 1 {
		return membersError("%s is the only member", which)
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

// explain converts etcd's errors of membership changes to errors of this package.
func explain(err error) error {
	switch {
	case errors.Is(err, membership.ErrTooManyLearners):
		return fmt.Errorf("%w: another one joins; wait for it, or remove it if it will not come", ErrMembersBusy)
	case errors.Is(err, etcderrors.ErrUnhealthy), errors.Is(err, etcderrors.ErrNotEnoughStartedMembers):
		return fmt.Errorf("%w: too few of the others have been reachable for some seconds", ErrMembersBusy)
	}
	return translate(err)
}
