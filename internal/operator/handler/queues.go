// The queues of mails and jobs in the console over HTTP.

package handler

import (
	"net/http"
	"strconv"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/strictjson"
)

type queuedMailResponse struct {
	UID         id.Mail       `json:"uid"`
	Created     httpapi.Time  `json:"created"`
	Template    string        `json:"template"`
	To          string        `json:"to"`
	State       string        `json:"state"`
	Attempts    int           `json:"attempts"`
	LastAttempt *httpapi.Time `json:"lastAttempt"`
	LastAnswer  string        `json:"lastAnswer"`
	NextAttempt *httpapi.Time `json:"nextAttempt"`
	Finished    *httpapi.Time `json:"finished"`
}

type mailsResponse struct {
	Mails []queuedMailResponse `json:"mails"`
	Next  string               `json:"next,omitempty"`
}

// mailFilter returns which mails a query selects, of those in the states.
func mailFilter(q *httpapi.Query, states ...string) mail.Filter {
	return mail.Filter{
		State: q.Word("state", states...), To: q.One("to"), Answer: q.One("answer"), Since: q.Moment("since"), Until: q.Moment("until"),
	}
}

// listMails handles GET /mails.
func (h *Handler) listMails(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	f := mailFilter(q, mail.Queued, mail.Sent, mail.Failed, mail.Cancelled)
	f.After, f.Limit = httpapi.QueryUID[id.Mail](q, "after"), pageLimit(q)
	if err := q.Err(); err != nil {
		return err
	}
	list, more, err := h.service.Mails(r.Context(), f)
	if err != nil {
		return err
	}
	answer := mailsResponse{Mails: make([]queuedMailResponse, len(list))}
	for i, m := range list {
		answer.Mails[i] = queuedMailResponse{
			m.UID, httpapi.Time(m.CreatedAt), m.Template, m.To, m.State, m.Attempts, httpapi.TimeOrNil(m.LastAttemptAt), m.LastAnswer,
			httpapi.TimeOrNil(m.NextAttemptAt), httpapi.TimeOrNil(m.FinishedAt),
		}
	}
	if more {
		answer.Next = list[len(list)-1].UID.String()
	}
	return httpapi.JSON(w, http.StatusOK, answer)
}

// retryMail handles POST /mails/{uid}/retry.
func (h *Handler) retryMail(w http.ResponseWriter, r *http.Request) error {
	mailUID, err := id.Parse[id.Mail](httpapi.Param(r, "uid"))
	if err != nil {
		return mail.ErrNotFound
	}
	if err := h.service.RetryMail(r.Context(), mailUID); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

type retriedResponse struct {
	Due  int64 `json:"due"`
	Left int64 `json:"left"`
}

// retryMails handles POST /mails/retry, with the parameters of the list.
func (h *Handler) retryMails(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	f := mailFilter(q, mail.Queued, mail.Failed)
	if err := q.Err(); err != nil {
		return err
	}
	done, err := h.service.RetryMails(r.Context(), f)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, retriedResponse(done))
}

type testMailRequest struct {
	Address string `json:"address"`
	Locale  string `json:"locale"`
}

type testMailResponse struct {
	Sent   bool   `json:"sent"`
	Answer string `json:"answer"`
}

// sendTestMail handles POST /mails/test.
func (h *Handler) sendTestMail(w http.ResponseWriter, r *http.Request) error {
	var in testMailRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	answer, sent, err := h.service.TestMail(r.Context(), in.Address, in.Locale)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, testMailResponse{sent, answer})
}

type jobResponse struct {
	ID          int64         `json:"id"`
	Kind        string        `json:"kind"`
	Queue       string        `json:"queue"`
	State       string        `json:"state"`
	Attempt     int           `json:"attempt"`
	MaxAttempts int           `json:"maxAttempts"`
	Created     httpapi.Time  `json:"created"`
	Scheduled   httpapi.Time  `json:"scheduled"`
	Attempted   *httpapi.Time `json:"attempted"`
	Finished    *httpapi.Time `json:"finished"`
	LastError   string        `json:"lastError"`
}

func jobFrom(j jobs.Job) jobResponse {
	return jobResponse{
		j.ID, j.Kind, j.Queue, j.State, j.Attempt, j.MaxAttempts, httpapi.Time(j.CreatedAt), httpapi.Time(j.ScheduledAt),
		httpapi.TimeOrNil(j.AttemptedAt), httpapi.TimeOrNil(j.FinalizedAt), j.LastError,
	}
}

type jobListResponse struct {
	Jobs []jobResponse `json:"jobs"`
	Next string        `json:"next,omitempty"`
}

// listJobs handles GET /jobs.
func (h *Handler) listJobs(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	f := jobs.Filter{State: q.Word("state", jobs.States...), Queue: q.One("queue"), After: q.Number("after", 1, 1<<62, 0), Limit: pageLimit(q)}
	if err := q.Err(); err != nil {
		return err
	}
	list, more, err := h.service.Jobs(r.Context(), f)
	if err != nil {
		return err
	}
	answer := jobListResponse{Jobs: make([]jobResponse, len(list))}
	for i, j := range list {
		answer.Jobs[i] = jobFrom(j)
	}
	if more {
		answer.Next = strconv.FormatInt(list[len(list)-1].ID, 10)
	}
	return httpapi.JSON(w, http.StatusOK, answer)
}

// retryJob handles POST /jobs/{id}/retry.
func (h *Handler) retryJob(w http.ResponseWriter, r *http.Request) error {
	number, err := jobID(r)
	if err != nil {
		return err
	}
	j, err := h.service.RetryJob(r.Context(), number)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, jobFrom(j))
}

// cancelJob handles POST /jobs/{id}/cancel.
func (h *Handler) cancelJob(w http.ResponseWriter, r *http.Request) error {
	number, err := jobID(r)
	if err != nil {
		return err
	}
	j, err := h.service.CancelJob(r.Context(), number)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, jobFrom(j))
}

func jobID(r *http.Request) (int64, error) {
	number, err := strconv.ParseInt(httpapi.Param(r, "id"), 10, 64)
	if err != nil || number < 1 {
		return 0, jobs.ErrNotFound
	}
	return number, nil
}
