package audit

import (
	"encoding/json"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Names of the API of events and policies.
const (
	GroupVersion = "audit.k8s.io/v1"
	eventKind    = "Event"
	listKind     = "EventList"
	policyKind   = "Policy"
)

// Level is the level of detail that is recorded.
type Level string

// Levels, in the order of increasing detail.
const (
	LevelNone            Level = "None"
	LevelMetadata        Level = "Metadata"
	LevelRequest         Level = "Request"
	LevelRequestResponse Level = "RequestResponse"
)

// Stage is the stage of a request at which an event is emitted.
type Stage string

// Stages, in their order. The last stage of a request is ResponseComplete or Panic.
const (
	StageRequestReceived  Stage = "RequestReceived"
	StageResponseStarted  Stage = "ResponseStarted"
	StageResponseComplete Stage = "ResponseComplete"
	StagePanic            Stage = "Panic"
)

// Event describes a request at one stage. Its objects are JSON in the version of the request.
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

// AuthenticationMetadata describes how the request was authenticated.
type AuthenticationMetadata struct {
	// ImpersonationConstraint is the verb that allowed a constrained impersonation.
	ImpersonationConstraint string `json:"impersonationConstraint,omitempty"`
}

// ObjectReference identifies the object of a request.
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
	// eventOverhead estimates the fixed part of an event's size in bytes.
	eventOverhead = 1024
	// textOverhead is the size of a string in a slice, without its bytes.
	textOverhead = 16
)

// Size estimates the memory of the event in bytes. It counts all fields whose length clients control.
func (e *Event) Size() int {
	n := eventOverhead + len(e.RequestURI) + len(e.Verb) + len(e.UserAgent) + len(e.AuditID) + len(e.RequestObject) +
		len(e.ResponseObject)
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

// Encode returns the event as a JSON document with apiVersion and kind.
func (e *Event) Encode() ([]byte, error) {
	whole := *e
	whole.Kind, whole.APIVersion = eventKind, GroupVersion
	return json.Marshal(&whole)
}

// EncodeList returns an EventList as JSON.
func EncodeList(events []*Event) ([]byte, error) {
	return json.Marshal(&struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []*Event `json:"items"`
	}{TypeMeta: metav1.TypeMeta{Kind: listKind, APIVersion: GroupVersion}, Items: events})
}
