package httpapi

import (
	"net/http"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// maxReason is the length of the reason for an operator's change, in bytes.
const maxReason = 500

// Change is the body of an operator's change, also embedded in others.
type Change struct {
	Reason string `json:"reason"`
}

// Stated implements Reasoned.
func (c *Change) Stated() string { return c.Reason }

// Reasoned is the body of a change that needs a reason: a Change or a struct that embeds it.
type Reasoned interface{ Stated() string }

// DecodeChange reads the body of a change into in. It returns the caller in this role, with the reason.
// Errors: fault.ErrInvalid.
func DecodeChange(r *http.Request, as audit.Kind, in Reasoned) (audit.Actor, error) {
	by := audit.Of(token.CallerFrom(r.Context())).As(as)
	if err := strictjson.Decode(r, in); err != nil {
		return by, err
	}
	by.Reason = in.Stated()
	if err := text.Required(by.Reason, maxReason); err != nil {
		return by, fault.ErrInvalid.With("reason: " + err.Error())
	}
	return by, nil
}
