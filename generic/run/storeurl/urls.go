package storeurl

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"triplane.dev/generic/storage/postgres"
)

// URLs are the URLs of one store: those of the servers of an etcd cluster, or one of a PostgreSQL database.
type URLs []string

// Parse splits a list of URLs. A URL of PostgreSQL, whose hosts the separator may separate as well, is not split.
func Parse(list, separator string) URLs {
	if list == "" {
		return nil
	}
	if postgres.IsURL(list) {
		return URLs{list}
	}
	return strings.Split(list, separator)
}

// Postgres returns the URL of a PostgreSQL database; "" if the URLs are those of etcd.
func (u URLs) Postgres() string {
	if len(u) == 0 || !postgres.IsURL(u[0]) {
		return ""
	}
	return strings.Join(u, ",") // hosts that pflag has split
}

// Validate returns an error if a URL is invalid. The error does not contain passwords.
func (u URLs) Validate() error {
	if database := u.Postgres(); database != "" {
		for _, other := range u[1:] {
			if strings.Contains(other, "://") {
				return fmt.Errorf("a PostgreSQL database is one store: it cannot be combined with %q", postgres.Redact(other))
			}
		}
		return postgres.CheckURL(database)
	}
	for _, s := range u {
		if !isServer(s) {
			return fmt.Errorf("%q is not a URL such as https://127.0.0.1:2379, unix:///run/etcd.sock or "+
				"postgres://user@host/database", s)
		}
	}
	return nil
}

// String returns the URLs without passwords.
func (u URLs) String() string {
	if database := u.Postgres(); database != "" {
		return "[" + postgres.Redact(database) + "]"
	}
	return "[" + strings.Join(u, ",") + "]"
}

// isServer reports whether s is a URL of an etcd server: with a host, or with the path of a Unix socket.
func isServer(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return u.Host != ""
	case "unix", "unixs":
		return u.Host != "" || len(u.Path) > 1
	}
	return false
}

// Flag returns the value of flags that set u. Like that of other lists, the first use replaces the default, and later
// ones add to it.
func (u *URLs) Flag() pflag.Value { return &flag{urls: u} }

type flag struct {
	urls *URLs
	used bool
}

// String implements pflag.Value. It contains no password. It is "" without URLs, so that --help shows no default.
func (f *flag) String() string {
	if f.urls == nil || len(*f.urls) == 0 {
		return ""
	}
	return f.urls.String()
}

// Type implements pflag.Value.
func (f *flag) Type() string { return "stringSlice" }

// Set implements pflag.Value.
func (f *flag) Set(list string) error {
	if !f.used {
		*f.urls, f.used = nil, true
	}
	*f.urls = append(*f.urls, Parse(list, ",")...)
	return nil
}
