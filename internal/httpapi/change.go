package httpapi

import (
	"net/http"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/text"
)

// maxReason is the length of the reason for an operator's change, in bytes.
const maxReason = 500

// Change is the body of an operator's change, also embedded in others.
type Change struct {
	Reason string `json:"reason"`
}

func (c *Change) stated() string { return c.Reason }

// Reasoned is a Change or a struct that embeds it.
type Reasoned interface{ stated() string }

// DecodeChange reads the body of an operator's change into in. The request that it returns has the reason for the audit.
// Errors: fault.ErrInvalid.
func DecodeChange(r *http.Request, in Reasoned) (*http.Request, error) {
	if err := strictjson.Decode(r, in); err != nil {
		return r, err
	}
	if err := text.Required(in.stated(), maxReason); err != nil {
		return r, fault.ErrInvalid.With("reason: " + err.Error())
	}
	return r.WithContext(audit.Because(r.Context(), in.stated())), nil
}
