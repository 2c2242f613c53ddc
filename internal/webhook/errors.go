package webhook

import (
	"time"

	"github.com/consign-dev/consign/internal/fault"
)

// The errors of webhooks.
var (
	// ErrTooMany: the person or the organization has as many webhooks as are allowed.
	ErrTooMany = fault.New(403054, "there are too many webhooks; delete one first")
	// ErrNotFound: there is no such webhook, or it is not the caller's.
	ErrNotFound = fault.New(404019, "there is no such webhook")
	// ErrDeliveryNotFound: the webhook has no such delivery, or it is no longer in its log.
	ErrDeliveryNotFound = fault.New(404020, "the webhook has no such delivery")
	// ErrPingsWaiting: MaxPendingPings tests of a webhook wait to be sent.
	ErrPingsWaiting = fault.ErrOverloaded.With("tests of this webhook are waiting; try again when they have been sent").WithRetryAfter(10 * time.Second)
)
