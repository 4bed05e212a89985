package claim

// Step is a step of the method. Log fields, metrics and documents use these words.
type Step string

const (
	StepPick    Step = "pick"
	StepClaim   Step = "claim"
	StepWait    Step = "wait"
	StepConfirm Step = "confirm"
	StepHandOut Step = "hand_out" // in place of send, mark and verify, for a caller that does the work
	StepSend    Step = "send"
	StepMark    Step = "mark"
	StepVerify  Step = "verify"
)
