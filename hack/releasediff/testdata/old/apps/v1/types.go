package v1

// Garden is a kind.
type Garden struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	Size int32  `json:"size"`
	Shed string `json:"shed"`
}

// Phase is an enum.
type Phase string

// Growing is a phase.
const Growing Phase = "Growing"

// APILifecycleRemoved is generated.
func (in *Garden) APILifecycleRemoved() (major, minor int) {
	return 1, 40
}
