package jobs

import (
	"context"
	"time"
)

// deadlineMargin is how long before its deadline a job stops that has more to do: it returns Again, which is no failure.
const deadlineMargin = 20 * time.Second

// DeadlineNear reports whether ctx has a deadline within 20 s. A job with more to do then returns Again.
func DeadlineNear(ctx context.Context) bool {
	end, limited := ctx.Deadline()
	return limited && time.Until(end) < deadlineMargin
}
