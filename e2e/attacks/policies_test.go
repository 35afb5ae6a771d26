package attacks

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// eventuallyRefused waits until what must not succeed fails for the reason.
func (s *target) eventuallyRefused(what, text string, do func() (int, string)) {
	s.t.Helper()
	s.eventually(what, 10*time.Second, func() bool {
		code, answer := do()
		return code >= 400 && strings.Contains(answer, text)
	})
}

// A policy whose params are secrets, and a binding to one. The attacker, who may
// write policies but read no secrets, would have their content in the messages of
// refused requests.
func policiesReadSecrets(_ *testing.T, s *target) {
	const group = "/apis/admissionregistration.k8s.io/v1/"
	const policy = "apiVersion: admissionregistration.k8s.io/v1\nkind: %s\nmetadata: {name: thief}\nspec:\n" +
		"  paramKind: {apiVersion: v1, kind: Secret}\n" +
		"  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}\n"
	validating := strings.Replace(policy, "%s", "ValidatingAdmissionPolicy", 1) + "  validations: [{expression: 'false', messageExpression: 'string(params.data.k)'}]\n"
	mutating := strings.Replace(policy, "%s", "MutatingAdmissionPolicy", 1) + "  reinvocationPolicy: Never\n  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]\n"
	mallory := s.as("mallory")
	const noKind = `must have \"get\" permission on all objects of the referenced paramKind`
	mallory.refused(422, noKind, "POST", group+"validatingadmissionpolicies", validating)
	mallory.refused(422, noKind, "POST", group+"mutatingadmissionpolicies", mutating)

	s.apply(strings.Replace(validating, "thief", "trusted", 1))
	s.apply(strings.Replace(mutating, "thief", "trusted", 1))
	for _, ref := range []string{"name: token, namespace: victim", "selector: {}"} {
		for kind, rest := range map[string]string{"ValidatingAdmissionPolicyBinding": ", validationActions: [Deny]",
			"MutatingAdmissionPolicyBinding": ""} {
			mallory.refused(422, "permission on the object referenced by paramRef", "POST",
				group+strings.ToLower(kind)+"s",
				"apiVersion: admissionregistration.k8s.io/v1\nkind: "+kind+"\nmetadata: {name: thief}\nspec: {policyName: trusted, paramRef: {"+ref+", parameterNotFoundAction: Deny}"+rest+"}\n")
		}
	}
	s.Kubectl(s.t, "delete", "validatingadmissionpolicy,mutatingadmissionpolicy", "trusted")
	// A policy may also take to secrets later.
	s.apply(strings.Replace(strings.Replace(validating, "thief", "later", 1), "kind: Secret", "kind: ConfigMap", 1))
	mallory.refused(422, noKind, "PATCH", group+"validatingadmissionpolicies/later",
		`{"spec":{"paramKind":{"kind":"Secret"}}}`)
	s.Kubectl(s.t, "delete", "validatingadmissionpolicy", "later")
}

// remote is a server of the attacker's, which counts what comes.
type remote struct {
	*httptest.Server
	asked atomic.Int64
}

func listen(t *testing.T, h http.HandlerFunc) *remote {
	r := &remote{}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.asked.Add(1)
		h(w, q)
	}))
	r.TLS = &tls.Config{NextProtos: []string{"http/1.1"}}
	r.StartTLS()
	t.Cleanup(r.Close)
	return r
}

// authority is the certificate of a server, as configurations have it.
func (r *remote) authority() string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: r.Certificate().Raw}))
}

// Webhooks of admission and conversion answer without an end. The attacker, who runs
// them, would fill the server's memory.
func endlessWebhooks(t *testing.T, s *target) {
	var sent, asked [2]atomic.Int64 // by admission and conversion
	hook := listen(t, func(w http.ResponseWriter, r *http.Request) {
		of := strings.Count(r.URL.Path, "conversion")
		to := &sent[of]
		asked[of].Add(1)
		w.Header().Set("Content-Type", "application/json")
		for piece := []byte(strings.Repeat(" ", 1<<20)); ; {
			n, err := w.Write(piece)
			if to.Add(int64(n)) > 1<<30 || err != nil {
				return
			}
		}
	})
	s.apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: endless}
webhooks:
- name: endless.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "` + hook.URL + `/admission", caBundle: ` + hook.authority() + `}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [podtemplates]}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: turns.endless.example.com}
spec:
  group: endless.example.com
  scope: Cluster
  names: {plural: turns, singular: turn, kind: Turn, listKind: TurnList}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "` + hook.URL + `/conversion", caBundle: ` + hook.authority() + `}}}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`)
	defer s.Kubectl(t, "delete", "mutatingwebhookconfiguration/endless", "crd/turns.endless.example.com")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/turns.endless.example.com")
	const template = "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: t}\ntemplate: {spec: {containers: [{name: c, image: i}]}}\n"
	for what, do := range map[string]func() (int, string){
		"endless.example.com": func() (int, string) {
			return s.as("").do("POST", "/api/v1/namespaces/default/podtemplates?dryRun=All", template)
		},
		"conversion webhook": func() (int, string) {
			return s.as("").do("POST", "/apis/endless.example.com/v2/turns?dryRun=All", "apiVersion: endless.example.com/v2\nkind: Turn\nmetadata: {name: t}\n")
		},
	} {
		s.eventuallyRefused(what+" is asked", what, do)
	}
	// Admission takes 16 MB, and conversion 128, as a list converts in one go; what is
	// on its way when the server has had enough counts as well.
	for i, most := range []int64{48 << 20, 192 << 20} {
		if n, answers := sent[i].Load(), asked[i].Load(); n == 0 || n > answers*most {
			t.Errorf("%d answers had %d MB", answers, n>>20)
		}
	}
}

// A webhook answers with a redirect. The attacker, who runs it, would have the API
// server ask machines that only it reaches, and read the answers in the errors.
func redirectingWebhook(t *testing.T, s *target) {
	internal := listen(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "internal secret", http.StatusInternalServerError)
	})
	hook := listen(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, internal.URL, http.StatusTemporaryRedirect)
	})
	s.apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: redirecting}
webhooks:
- name: redirecting.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "` + hook.URL + `/", caBundle: ` + hook.authority() + `}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [limitranges]}]
`)
	defer s.Kubectl(t, "delete", "validatingwebhookconfiguration", "redirecting")
	const limits = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l}\nspec: {limits: []}\n"
	s.eventuallyRefused("the webhook is asked", "redirecting.example.com", func() (int, string) {
		return s.as("").do("POST", "/api/v1/namespaces/default/limitranges?dryRun=All", limits)
	})
	_, answer := s.as("").do("POST", "/api/v1/namespaces/default/limitranges?dryRun=All", limits)
	if hook.asked.Load() == 0 || internal.asked.Load() > 0 || strings.Contains(answer, "internal secret") {
		t.Errorf("the webhook was asked %d times, the internal server %d times: %s", hook.asked.Load(), internal.asked.Load(), answer)
	}
}
