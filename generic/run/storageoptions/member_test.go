package storageoptions

import (
	"strings"
	"testing"
)

func TestMember(t *testing.T) {
	const three = "a=https://10.0.0.1:2380,b=https://10.0.0.2:2380,c=https://c.example:2380"
	for name, c := range map[string]struct {
		member Member
		url    string
		wrong  string
	}{
		"alone":                     {},
		"listens":                   {member: Member{Name: "a", Listen: "https://10.0.0.1:2380"}, url: "https://10.0.0.1:2380"},
		"behind a translation":      {member: Member{Name: "a", Listen: "https://0.0.0.0:2380", Advertise: "https://a.example:2380/"}, url: "https://a.example:2380"},
		"begins with others":        {member: Member{Name: "c", Listen: "https://0.0.0.0:2380", Initial: three}, url: "https://c.example:2380"},
		"nowhere to be found":       {member: Member{Name: "a", Listen: "https://0.0.0.0:2380"}, wrong: "set --embedded-etcd-peer-advertise"},
		"with a password":           {member: Member{Name: "a", Listen: "https://user:pass@10.0.0.1:2380"}, wrong: "--embedded-etcd-peer-listen"},
		"without TLS":               {member: Member{Name: "a", Listen: "http://10.0.0.1:2380"}, wrong: "--embedded-etcd-peer-listen"},
		"without a port":            {member: Member{Name: "a", Listen: "https://10.0.0.1"}, wrong: "--embedded-etcd-peer-listen"},
		"a name and no listener":    {member: Member{Name: "a"}, wrong: "need --embedded-etcd-peer-listen"},
		"not among the first":       {member: Member{Name: "d", Listen: "https://10.0.0.4:2380", Initial: three}, url: "https://10.0.0.4:2380"},
		"two places":                {member: Member{Name: "a", Listen: "https://10.0.0.1:2380", Advertise: "https://10.0.0.9:2380", Initial: three}, wrong: "has this member at https://10.0.0.1:2380"},
		"a name twice":              {member: Member{Name: "a", Listen: "https://10.0.0.1:2380", Initial: three + ",a=https://10.0.0.4:2380"}, wrong: "twice"},
		"a URL twice":               {member: Member{Name: "a", Listen: "https://10.0.0.1:2380", Initial: three + ",d=https://10.0.0.1:2380"}, wrong: "twice"},
		"no list":                   {member: Member{Name: "a", Listen: "https://10.0.0.1:2380", Initial: "a"}, wrong: "NAME=URL"},
		"a name that cannot be one": {member: Member{Name: "a,b", Listen: "https://10.0.0.1:2380"}, wrong: "--embedded-etcd-name"},
	} {
		_, url, initial, err := c.member.Self()
		if initial != (err == nil && c.member.Initial != "" && c.member.Name != "d") {
			t.Errorf("%s: it is an initial member: %v", name, initial)
		}
		if err == nil && url != c.url || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %q, %v", name, url, err)
		}
	}
	o := NewEtcd()
	o.Member = Member{Name: "d", Listen: "https://10.0.0.4:2380", Initial: three}
	if _, err := o.EmbeddedConfig(t.TempDir()); err == nil || !strings.Contains(err.Error(), `does not contain this member, "d"`) {
		t.Errorf("a member that creates the cluster of others: %v", err)
	}
	o.Servers, o.Member = []string{"https://127.0.0.1:2379"}, Member{Listen: "https://10.0.0.1:2380"}
	if errs := o.Validate(); len(errs) == 0 {
		t.Error("an etcd cluster has embedded members")
	}
}
