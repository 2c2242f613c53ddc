package translog

import (
	"github.com/consign-dev/consign/internal/proof"
)

// Witness is a cosigner of checkpoints (C2SP tlog-witness).
type Witness struct {
	Key *proof.Cosigner
	URL string // the submission prefix
}
