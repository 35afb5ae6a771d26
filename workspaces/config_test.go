package workspaces

import (
	"strings"
	"testing"

	"triplane.dev/generic/run/storageoptions"
)

// Options that workspaces do not support are rejected while workspaces are enabled.
func TestValidate(t *testing.T) {
	o, stored := NewOptions(), storageoptions.NewEtcd()
	stored.Overrides = []string{"/events#http://127.0.0.1:1", "workspaces.triplane.dev/workspaces#http://127.0.0.1:1"}
	if errs := o.Validate(stored); len(errs) != 0 {
		t.Errorf("without workspaces: %v", errs)
	}
	o.Enabled = true
	errs := o.Validate(stored)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "remove workspaces.triplane.dev/workspaces") {
		t.Errorf("an override of workspaces: %v", errs)
	}
	stored.Overrides, o.IdleTimeout = stored.Overrides[:1], 0
	if errs := o.Validate(stored); len(errs) != 1 || !strings.Contains(errs[0].Error(), "--workspace-idle-timeout") {
		t.Errorf("an idle timeout of 0: %v", errs)
	}
}
