package workspaces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/internal/transfer"
)

// copyReport is how often the progress of a copy is stored at most.
const copyReport = time.Second

// resolveTemplate sets the uid of the template of a new workspace: a later workspace of the name is not copied.
func (m *Manager) resolveTemplate(ctx context.Context, w *Workspace) {
	if t := w.Spec.Template; t != nil {
		e, _ := m.find(ctx, t.Name)
		t.UID = e.uid
	}
}

// validateTemplate returns an error if the user of a request may not read the content of the template. The error is the
// same whether the template exists or not.
func (m *Manager) validateTemplate(ctx context.Context, w *Workspace) field.ErrorList {
	t := w.Spec.Template
	if t == nil || m.mayCopy(ctx, t) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "template", "name"),
		fmt.Sprintf("there is no workspace %q of which the user may read all objects", t.Name))}
}

// mayCopy reports whether the user of a request may read the content of a template: administrators of the server and of
// the template, and users with the verb "get" on its subresource "content" in the server's RBAC.
func (m *Manager) mayCopy(ctx context.Context, t *Template) bool {
	e, exists := m.find(ctx, t.Name)
	u := request.UserFrom(ctx)
	if !exists || e.uid != t.UID || e.deleting || u == nil {
		return false
	}
	if isAdministrator(ctx, u) || e.isAdmin(u) && !e.suspended {
		return true
	}
	content := contentsOf(&authorizer.Attributes{User: u, Verb: "get"})
	content.Name = t.Name
	decision, _, err := m.rootAuthorizer.Authorize(ctx, content)
	return err == nil && decision == authorizer.Allow
}

// copyTemplate copies the objects of the template to a new workspace.
func (m *Manager) copyTemplate(ctx context.Context, w *Workspace, to *instance) error {
	t := w.Spec.Template
	template, _, err := m.stored(ctx, t.Name)
	switch {
	case err != nil:
		return err
	case template == nil || template.UID != t.UID:
		return errors.New("spec.template: it was deleted before it was copied")
	case !meta.IsStatusConditionTrue(template.Status.Conditions, Ready):
		return errors.New("spec.template: it is not ready")
	}
	from, err := m.acquire(ctx, t.Name)
	if err != nil {
		return fmt.Errorf("spec.template: %w", err)
	}
	defer m.release(from)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer from.onStop(cancel)()
	var rejected bytes.Buffer
	reported := time.Now()
	err = transfer.Copy(ctx, transfer.Copied{From: from.initialConfig(), To: to.initialConfig(), Rejected: &rejected,
		Progress: func(done, all int) {
			if time.Since(reported) < copyReport {
				return
			}
			reported = time.Now()
			m.reportCopy(ctx, w.Name, w.UID, fmt.Sprintf("Copied %d of %d objects of workspace %s", done, all, t.Name))
		}})
	if err != nil {
		first, _, _ := strings.Cut(rejected.String(), "\n")
		return fmt.Errorf("spec.template: %w: %s", err, first)
	}
	return nil
}

// reportCopy reports the progress of a copy in the condition Ready.
func (m *Manager) reportCopy(ctx context.Context, name string, uid types.UID, message string) {
	c := metav1.Condition{Type: Ready, Status: metav1.ConditionFalse, Reason: initializing, Message: message}
	if err := m.setCondition(asServer(ctx), name, uid, c); err != nil {
		klog.V(2).InfoS("Failed to report the progress of a copy", "workspace", name, "err", err)
	}
}

// initialConfig configures clients that read the template, and write the initial objects.
func (i *instance) initialConfig() *restclient.Config {
	config := restclient.CopyConfig(i.chain.Loopback)
	config.ContentConfig = restclient.ContentConfig{} // custom resources do not support protobuf
	config.Impersonate = restclient.ImpersonationConfig{UserName: initialUser, Groups: []string{user.SystemPrivileged}}
	config.UserAgent = initialManager
	return config
}
