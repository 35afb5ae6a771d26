package storeurl

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestFlag(t *testing.T) {
	for name, test := range map[string]struct {
		args           []string
		shown, invalid string
		database       string
	}{
		"none":       {nil, "", "", ""},
		"etcd":       {[]string{"--s=http://a:1,http://b:1", "--s=unix:///c"}, "[http://a:1,http://b:1,unix:///c]", "", ""},
		"hosts":      {[]string{"--s=postgres://u:p@a,b:5433/db?sslmode=disable"}, "[postgres://u:xxxxx@a,b:5433/db?sslmode=disable]", "", "postgres://u:p@a,b:5433/db?sslmode=disable"},
		"parameters": {[]string{"--s=postgresql:///db?password=p&host=h&sslpassword=q"}, "[postgresql:///db?password=xxxxx&host=h&sslpassword=xxxxx]", "", "postgresql:///db?password=p&host=h&sslpassword=q"},
		"two":        {[]string{"--s=postgres://a/db", "--s=postgres://u:secret@b/db"}, "", "one store", ""},
		"neither":    {[]string{"--s=mysql://a/db"}, "[mysql://a/db]", "is not a URL such as", ""},
		"malformed":  {[]string{"--s=postgres://u:secret@a:port/db"}, "[postgres://u:xxxxx@a:port/db]", "cannot parse the PostgreSQL URL", ""},
		"unknown":    {[]string{"--s=postgres://a/db?sslmode=maybe"}, "", "sslmode", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var urls URLs
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			fs.Var(urls.Flag(), "s", "")
			if err := fs.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			if shown := fs.Lookup("s").Value.String(); test.shown != "" && shown != test.shown {
				t.Errorf("shown as %s", shown)
			}
			err := urls.Validate()
			switch {
			case test.invalid == "" && err != nil, test.invalid != "" && (err == nil || !strings.Contains(err.Error(), test.invalid)):
				t.Errorf("got %v, want %q", err, test.invalid)
			case err != nil && strings.Contains(err.Error(), "secret"):
				t.Errorf("the error has the password: %v", err)
			}
			if test.database != "" && urls.Postgres() != test.database {
				t.Errorf("the database is %s", urls.Postgres())
			}
		})
	}
}
