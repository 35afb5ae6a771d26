package audit

import (
	"encoding/json"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The group version of events and policies.
const (
	GroupVersion = "audit.k8s.io/v1"
	eventKind    = "Event"
	listKind     = "EventList"
	policyKind   = "Policy"
)

// Level is how much of a request is recorded.
type Level string

// The levels, each with more than the one before.
const (
	LevelNone            Level = "None"
	LevelMetadata        Level = "Metadata"
	LevelRequest         Level = "Request"
	LevelRequestResponse Level = "RequestResponse"
)

// Stage is the point of a request's life at which an event is made.
type Stage string

// The stages, in order. A request ends with ResponseComplete or Panic.
const (
	StageRequestReceived  Stage = "RequestReceived"
	StageResponseStarted  Stage = "ResponseStarted"
	StageResponseComplete Stage = "ResponseComplete"
	StagePanic            Stage = "Panic"
)

// Event is what is known of a request at one stage. Objects are JSON in the
// version that travelled.
type Event struct {
	metav1.TypeMeta `json:",inline"`

	Level                    Level                      `json:"level"`
	AuditID                  types.UID                  `json:"auditID"`
	Stage                    Stage                      `json:"stage"`
	RequestURI               string                     `json:"requestURI"`
	Verb                     string                     `json:"verb"`
	User                     authenticationv1.UserInfo  `json:"user"`
	ImpersonatedUser         *authenticationv1.UserInfo `json:"impersonatedUser,omitempty"`
	AuthenticationMetadata   *AuthenticationMetadata    `json:"authenticationMetadata,omitempty"`
	SourceIPs                []string                   `json:"sourceIPs,omitempty"`
	UserAgent                string                     `json:"userAgent,omitempty"`
	ObjectRef                *ObjectReference           `json:"objectRef,omitempty"`
	ResponseStatus           *metav1.Status             `json:"responseStatus,omitempty"`
	RequestObject            json.RawMessage            `json:"requestObject,omitempty"`
	ResponseObject           json.RawMessage            `json:"responseObject,omitempty"`
	RequestReceivedTimestamp metav1.MicroTime           `json:"requestReceivedTimestamp"`
	StageTimestamp           metav1.MicroTime           `json:"stageTimestamp"`
	Annotations              map[string]string          `json:"annotations,omitempty"`
}

// AuthenticationMetadata says how the user came to be whom the request is made
// as.
type AuthenticationMetadata struct {
	// ImpersonationConstraint is the verb that allowed a constrained
	// impersonation.
	ImpersonationConstraint string `json:"impersonationConstraint,omitempty"`
}

// ObjectReference is what a request is about.
type ObjectReference struct {
	Resource        string    `json:"resource,omitempty"`
	Namespace       string    `json:"namespace,omitempty"`
	Name            string    `json:"name,omitempty"`
	UID             types.UID `json:"uid,omitempty"`
	APIGroup        string    `json:"apiGroup,omitempty"`
	APIVersion      string    `json:"apiVersion,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	Subresource     string    `json:"subresource,omitempty"`
}

const (
	// eventOverhead is about what the parts of an event take that have no length of
	// their own, in bytes.
	eventOverhead = 1024
	// textOverhead is what a text of a list takes beside its bytes.
	textOverhead = 16
)

// Size is about what the event occupies, in bytes: all that clients can make long is
// in it. It costs next to nothing.
func (e *Event) Size() int {
	n := eventOverhead + len(e.RequestURI) + len(e.Verb) + len(e.UserAgent) + len(e.AuditID) + len(e.RequestObject) + len(e.ResponseObject)
	n += textsSize(e.SourceIPs) + userSize(&e.User)
	if e.ImpersonatedUser != nil {
		n += userSize(e.ImpersonatedUser)
	}
	if e.ResponseStatus != nil {
		n += len(e.ResponseStatus.Message)
	}
	for k, v := range e.Annotations {
		n += len(k) + len(v)
	}
	return n
}

func userSize(u *authenticationv1.UserInfo) int {
	n := len(u.Username) + len(u.UID) + textsSize(u.Groups)
	for key, values := range u.Extra {
		n += textOverhead + len(key) + textsSize(values)
	}
	return n
}

func textsSize(list []string) int {
	n := textOverhead * len(list)
	for _, text := range list {
		n += len(text)
	}
	return n
}

// Encode returns the event as a JSON document of its own.
func (e *Event) Encode() ([]byte, error) {
	whole := *e
	whole.Kind, whole.APIVersion = eventKind, GroupVersion
	return json.Marshal(&whole)
}

// EncodeList returns events as the JSON of an EventList.
func EncodeList(events []*Event) ([]byte, error) {
	return json.Marshal(&struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []*Event `json:"items"`
	}{TypeMeta: metav1.TypeMeta{Kind: listKind, APIVersion: GroupVersion}, Items: events})
}
