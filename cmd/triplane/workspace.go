package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"triplane.dev/internal/adminclient"
	"triplane.dev/workspaces"
)

const workspaceUsage = `Manages the workspaces of a running server with --workspaces.

Usage:
  triplane workspace list [flags]
  triplane workspace create NAME [flags]
  triplane workspace delete NAME [flags]        deletes all objects of the workspace, and waits
  triplane workspace kubeconfig NAME [flags]    prints the kubeconfig of the server for the workspace
`

// workspacesPath is the path of the resource.
var workspacesPath = "/apis/" + workspaces.GroupVersion.String() + "/" + workspaces.Plural

// deletionPoll is the interval at which delete looks whether the workspace is deleted.
const deletionPoll = 200 * time.Millisecond

// workspaceCommand has the flags of the command workspace.
type workspaceCommand struct {
	remoteFlags
	admins   []string
	template string
	out      io.Writer
}

// manageWorkspaces implements the command workspace.
func manageWorkspaces(ctx context.Context, args []string, out io.Writer) error {
	fs := pflag.NewFlagSet("workspace", pflag.ContinueOnError)
	c := workspaceCommand{out: out}
	c.add(fs)
	fs.StringSliceVar(&c.admins, "admin", nil,
		"For create: users who may do everything in the workspace, comma separated.")
	fs.StringVar(&c.template, "template", "",
		"For create: a workspace whose objects the new one begins with. The user must be one of its administrators.")
	if help, err := parse(fs, workspaceUsage, args, out); help || err != nil {
		return err
	}
	name := fs.Arg(1)
	run, takesName := map[string]func(context.Context, string) error{
		"list": c.list, "create": c.create, "delete": c.remove, "kubeconfig": c.writeKubeconfig,
	}[fs.Arg(0)], fs.Arg(0) != "list"
	if run == nil || takesName != (name != "") || fs.NArg() > 2 {
		return errors.New("workspace takes list, or create, delete or kubeconfig and a name; see triplane workspace --help")
	}
	return run(ctx, name)
}

// send sends a request to the API and decodes the response into result.
func (c *workspaceCommand) send(ctx context.Context, method, path string, content, result any) error {
	server, err := c.connect()
	if err != nil {
		return err
	}
	var body io.Reader
	if content != nil {
		raw, err := json.Marshal(content)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	response, err := server.Send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer response.Close()
	return json.NewDecoder(response).Decode(result)
}

func (c *workspaceCommand) list(ctx context.Context, _ string) error {
	var all workspaces.List
	if err := c.send(ctx, http.MethodGet, workspacesPath, nil, &all); err != nil {
		return err
	}
	table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NAME\tREADY\tREASON\tURL") // Flush returns the error
	for i := range all.Items {
		w := &all.Items[i]
		ready, reason := workspaces.Readiness(w)
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", w.Name, ready, reason, w.Status.URL)
	}
	return table.Flush()
}

func (c *workspaceCommand) create(ctx context.Context, name string) error {
	w := &workspaces.Workspace{
		TypeMeta:   metav1.TypeMeta{APIVersion: workspaces.GroupVersion.String(), Kind: "Workspace"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
	for _, admin := range c.admins {
		w.Spec.Admins = append(w.Spec.Admins, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: admin})
	}
	if c.template != "" {
		w.Spec.Template = &workspaces.Template{Name: c.template}
	}
	if err := c.send(ctx, http.MethodPost, workspacesPath, w, w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.out, "Created workspace %s at %s\n", name, w.Status.URL)
	return err
}

func (c *workspaceCommand) remove(ctx context.Context, name string) error {
	path := workspacesPath + "/" + name
	var deleted json.RawMessage
	if err := c.send(ctx, http.MethodDelete, path, nil, &deleted); err != nil {
		return err
	}
	for {
		err := c.send(ctx, http.MethodGet, path, nil, &deleted)
		if adminclient.HasCode(err, http.StatusNotFound) {
			_, err = fmt.Fprintf(c.out, "Deleted workspace %s\n", name)
			return err
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(deletionPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// writeKubeconfig prints the kubeconfig of the flags with the URL of a workspace. It does not request the server.
func (c *workspaceCommand) writeKubeconfig(_ context.Context, name string) error {
	config, err := clientcmd.LoadFromFile(c.path())
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server += workspaces.URLPath(name)
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	_, err = c.out.Write(content)
	return err
}
