package handler

import (
	"context"
	"net/http"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// operatorTransferRoutes holds transfers in the console. No answer has anything of their contents.
func (h *Handler) operatorTransferRoutes() []httpapi.Route {
	reads, changes := operators()
	const one = "/transfers/{transfer}"
	return []httpapi.Route{
		{Method: "GET", Pattern: "/transfers", Auth: reads, Handler: h.findTransfers},
		{Method: "GET", Pattern: one, Auth: reads, Handler: h.reportTransfer},
		{Method: "POST", Pattern: one + "/extend", Auth: changes, Handler: h.extendTransfer},
		{Method: "POST", Pattern: one + "/revoke", Auth: changes, Handler: h.changeTransfer(h.service.RevokeTransfer)},
		{Method: "POST", Pattern: one + "/inspect", Auth: changes,
			Handler: h.changeTransfer(func(ctx context.Context, by audit.Actor, uid id.Transfer) error {
				_, err := h.service.InspectAgain(ctx, by, uid)
				return err
			})},
		{Method: "POST", Pattern: one + "/erase-receipt", Auth: changes, Handler: h.changeTransfer(h.service.EraseReceipts)},
	}
}

type statedSender struct {
	UID   *id.Person `json:"uid"`
	Name  *string    `json:"name"`
	Email *string    `json:"email"`
}

func statedSenderFrom(s transfer.Sender) statedSender {
	out := statedSender{Name: orNull(s.Name), Email: orNull(s.Email)}
	if !s.Person.IsZero() {
		out.UID = &s.Person
	}
	return out
}

type listedTransferResponse struct {
	UID           id.Transfer   `json:"uid"`
	Type          string        `json:"type"`
	State         string        `json:"state"`
	Sender        statedSender  `json:"sender"`
	Recipient     *string       `json:"recipient"`
	Recipients    int           `json:"recipients"`
	Downloads     int64         `json:"downloads"`
	Files         int32         `json:"files"`
	Bytes         int64         `json:"bytes"`
	Protection    string        `json:"protection"`
	MalwareStatus *string       `json:"malwareStatus"`
	CreatedAt     httpapi.Time  `json:"createdAt"`
	ExpiresAt     *httpapi.Time `json:"expiresAt"`
}

type transfersResponse struct {
	Transfers []listedTransferResponse `json:"transfers"`
	Next      string                   `json:"next,omitempty"`
}

func transfersFrom(list []transfer.ListedTransfer, next string) transfersResponse {
	out := transfersResponse{Transfers: make([]listedTransferResponse, len(list)), Next: next}
	for i, t := range list {
		out.Transfers[i] = listedTransferResponse{
			UID: t.UID, Type: string(t.Kind), State: string(t.State), Sender: statedSenderFrom(t.Sender), Recipient: orNull(t.Recipient),
			Recipients: t.Recipients,
			Downloads:  t.Downloads, Files: t.ObjectCount, Bytes: t.TotalBytes, Protection: string(t.Protection),
			MalwareStatus: orNull(string(t.MalwareStatus)),
			CreatedAt:     httpapi.Time(t.CreatedAt), ExpiresAt: httpapi.TimeOrNil(t.ExpiresAt),
		}
	}
	return out
}

// queryState returns the parameter state.
func queryState(q *httpapi.Query) transfer.State {
	return transfer.State(q.Word("state", string(transfer.Delivered), string(transfer.Accessed), string(transfer.Expired),
		string(transfer.Revoked)))
}

// findTransfers handles GET /transfers of the console.
func (h *Handler) findTransfers(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	in := service.OperatorTransfers{
		Person: q.One("person"), Mailbox: q.One("mailbox"), Organization: q.One("organization"), State: queryState(q), After: q.One("after"),
	}
	if err := q.Err(); err != nil {
		return err
	}
	list, next, err := h.service.FindTransfers(r.Context(), in)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, transfersFrom(list, next))
}

type transferReportResponse struct {
	UID                 id.Transfer         `json:"uid"`
	Type                string              `json:"type"`
	State               string              `json:"state"`
	Sender              statedSender        `json:"sender"`
	Owner               reportedOwner       `json:"owner"`
	Organization        organizationNamed   `json:"organization"`
	Recipients          []reportedRecipient `json:"recipients"`
	Files               int32               `json:"files"`
	Bytes               int64               `json:"bytes"`
	Protection          string              `json:"protection"`
	MalwareStatus       *string             `json:"malwareStatus"`
	Pinned              bool                `json:"pinned"`
	MaxDownloads        int32               `json:"maxDownloads"`
	MaxTotalDownloads   int32               `json:"maxTotalDownloads"`
	DeleteAfterDownload bool                `json:"deleteAfterDownload"`
	CreatedAt           httpapi.Time        `json:"createdAt"`
	AccessedAt          *httpapi.Time       `json:"accessedAt"`
	ExpiresAt           *httpapi.Time       `json:"expiresAt"`
	ExtendableUntil     *httpapi.Time       `json:"extendableUntil"`
	EndedAt             *httpapi.Time       `json:"endedAt"`
}

// operatedTransferResponse adds hasReceipt, which the console needs and administrators do not see.
type operatedTransferResponse struct {
	transferReportResponse
	HasReceipt bool `json:"hasReceipt"`
}

type reportedOwner struct {
	UID   id.Person `json:"uid"`
	Email *string   `json:"email"`
}

type organizationNamed struct {
	UID  id.Organization `json:"uid"`
	Name *string         `json:"name"`
}

type reportedRecipient struct {
	UID          *id.Person    `json:"uid"`
	Email        *string       `json:"email"`
	Type         string        `json:"type"`
	Undelivered  bool          `json:"undelivered"`
	Downloads    int32         `json:"downloads"`
	AccessedAt   *httpapi.Time `json:"accessedAt"`
	DownloadedAt *httpapi.Time `json:"downloadedAt"`
}

func reportedRecipientFrom(d transfer.Delivery) reportedRecipient {
	out := reportedRecipient{
		Email: orNull(d.Email), Type: string(d.Destination), Undelivered: d.Undelivered, Downloads: d.Downloads,
		AccessedAt: httpapi.TimeOrNil(&d.AccessedAt), DownloadedAt: httpapi.TimeOrNil(&d.DownloadedAt),
	}
	if !d.Person.IsZero() {
		out.UID = &d.Person
	}
	return out
}

func transferReportFrom(t service.TransferReport) transferReportResponse {
	out := transferReportResponse{
		UID: t.UID, Type: string(t.Kind), State: string(t.State), Sender: statedSenderFrom(t.Sender),
		Owner:        reportedOwner{t.Owner, orNull(t.OwnerEmail)},
		Organization: organizationNamed{t.Organization, orNull(t.OrganizationName)}, Recipients: make([]reportedRecipient, len(t.Recipients)),
		Files: t.ObjectCount, Bytes: t.TotalBytes, Protection: string(t.Protection), MalwareStatus: orNull(string(t.MalwareStatus)),
		Pinned:       t.Pinned,
		MaxDownloads: t.MaxDownloads, MaxTotalDownloads: t.MaxTotalDownloads, DeleteAfterDownload: t.DeleteAfterDownload,
		CreatedAt:  httpapi.Time(t.CreatedAt),
		AccessedAt: httpapi.TimeOrNil(&t.AccessedAt), ExtendableUntil: httpapi.TimeOrNil(&t.ExtendableUntil),
		EndedAt: httpapi.TimeOrNil(t.EndedAt),
	}
	if !t.Pinned {
		out.ExpiresAt = httpapi.TimeOrNil(&t.ExpiresAt)
	}
	for i, d := range t.Recipients {
		out.Recipients[i] = reportedRecipientFrom(d)
	}
	return out
}

// reportTransfer handles GET /transfers/{transfer} of the console.
func (h *Handler) reportTransfer(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "transfer")
	if err != nil {
		return err
	}
	t, err := h.service.ReportTransfer(r.Context(), uid)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, operatedTransferResponse{transferReportFrom(t), t.HasReceipt})
}

type extensionRequest struct {
	httpapi.Change
	Days int `json:"days"`
}

// extendTransfer handles POST /transfers/{transfer}/extend of the console.
func (h *Handler) extendTransfer(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "transfer")
	if err != nil {
		return err
	}
	var in extensionRequest
	by, err := httpapi.DecodeChange(r, audit.Operator, &in)
	if err != nil {
		return err
	}
	if err := h.service.ExtendTransfer(r.Context(), by, uid, in.Days); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// changeTransfer returns the handler of POST /transfers/{transfer}/… of the console, which needs a reason only.
func (h *Handler) changeTransfer(do func(ctx context.Context, by audit.Actor, uid id.Transfer) error) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		uid, err := uidParam[id.Transfer](r, "transfer")
		if err != nil {
			return err
		}
		by, err := httpapi.DecodeChange(r, audit.Operator, &httpapi.Change{})
		if err != nil {
			return err
		}
		if err := do(r.Context(), by, uid); err != nil {
			return err
		}
		return httpapi.NoContent(w)
	}
}
