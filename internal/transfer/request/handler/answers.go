// The JSON form of answers about requests.

package handler

import (
	"encoding/json"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/transfer/request/postgres"
	"github.com/consign-dev/consign/internal/transfer/request/service"
)

// basicResponse holds what every view of a request has.
type basicResponse struct {
	UID          string          `json:"uid"`
	Title        string          `json:"title"`
	Message      string          `json:"message,omitempty"`
	Due          *httpapi.Time   `json:"due,omitempty"`
	TimeZone     string          `json:"timeZone"`
	Late         string          `json:"late"`
	Language     string          `json:"language"`
	FieldsSchema json.RawMessage `json:"fieldsSchema,omitempty"`
	UISchema     json.RawMessage `json:"uiSchema,omitempty"`
	State        string          `json:"state"`
}

func basicFrom(r request.Request) basicResponse {
	return basicResponse{
		UID: r.UID.String(), Title: r.Title, Message: r.Message, Due: httpapi.TimeOrNil(r.Due), TimeZone: r.TimeZone, Late: string(r.Late),
		Language: r.Locale, FieldsSchema: r.FieldsSchema, UISchema: r.UISchema, State: string(r.State),
	}
}

// ownResponse holds what the owner sees of a request.
type ownResponse struct {
	basicResponse
	Template    bool          `json:"template"`
	Reminders   bool          `json:"reminders"`
	PublicLink  bool          `json:"publicLink"`
	Version     int64         `json:"version"`
	CreatedAt   httpapi.Time  `json:"createdAt"`
	ClosedAt    *httpapi.Time `json:"closedAt,omitempty"`
	CompletedAt *httpapi.Time `json:"completedAt,omitempty"`
}

func ownFrom(r request.Request) ownResponse {
	return ownResponse{
		basicResponse: basicFrom(r), Template: r.Template, Reminders: r.Reminders, PublicLink: r.Public, Version: r.Version,
		CreatedAt: httpapi.Time(r.CreatedAt), ClosedAt: httpapi.TimeOrNil(r.ClosedAt), CompletedAt: httpapi.TimeOrNil(r.CompletedAt),
	}
}

// summaryResponse is a request in a list.
type summaryResponse struct {
	ownResponse
	ItemCount int `json:"itemCount"`
	Parties   int `json:"partyCount"`
	Unopened  int `json:"unopened"`
	HandedIn  int `json:"handedIn"`
	Complete  int `json:"complete"`
	Waiting   int `json:"waiting"`
}

func summaryFrom(s request.Summary) summaryResponse {
	own := ownFrom(s.Request)
	own.FieldsSchema, own.UISchema, own.Message = nil, nil, ""
	return summaryResponse{ownResponse: own, ItemCount: s.Items, Parties: s.Parties, Unopened: s.Unopened, HandedIn: s.HandedIn,
		Complete: s.Complete, Waiting: s.Waiting}
}

type itemResponse struct {
	UID           string   `json:"uid"`
	Name          string   `json:"name"`
	Hint          string   `json:"hint,omitempty"`
	MIMETypes     []string `json:"mimeTypes"`
	Required      bool     `json:"required"`
	MaxFiles      int32    `json:"maxFiles"`
	MaxFileSizeMB int64    `json:"maxFileSizeMb"`
	Example       string   `json:"example,omitempty"`
}

func itemFrom(i request.Item) itemResponse {
	return itemResponse{UID: i.UID.String(), Name: i.Name, Hint: i.Hint, MIMETypes: listOf([]string(i.MIMETypes)), Required: i.Required,
		MaxFiles: i.MaxFiles, MaxFileSizeMB: i.MaxFileSizeMB, Example: i.Example}
}

func itemsFrom(items []request.Item) []itemResponse {
	out := make([]itemResponse, len(items))
	for i, it := range items {
		out[i] = itemFrom(it)
	}
	return out
}

// stateResponse is the state of an item of a party, with its files.
type stateResponse struct {
	Item      string         `json:"item"`
	State     string         `json:"state"`
	Reason    string         `json:"reason,omitempty"`
	ChangedAt *httpapi.Time  `json:"changedAt,omitempty"`
	By        string         `json:"by,omitempty"` // the person who decided
	Files     []fileResponse `json:"files"`
}

type fileResponse struct {
	UID           string        `json:"uid"`
	Transfer      string        `json:"transfer,omitempty"` // left out: not handed in
	ClientID      string        `json:"clientId,omitempty"` // while not handed in
	Name          string        `json:"name"`
	ContentLength int64         `json:"contentLength"`
	IntendedSize  int64         `json:"intendedSize"`
	MIMEType      string        `json:"mimeType,omitempty"`
	MalwareStatus string        `json:"malwareStatus,omitempty"`
	HandedInAt    *httpapi.Time `json:"handedInAt,omitempty"`
}

// statesFrom returns the state of each item, in the order of the items.
func statesFrom(items []request.Item, states map[id.Item]request.PartyItem, files map[id.Item][]postgres.File,
	public bool) []stateResponse {
	out := make([]stateResponse, len(items))
	for i, it := range items {
		b := stateResponse{Item: it.UID.String(), State: string(request.ItemOpen), Files: []fileResponse{}}
		if x, ok := states[it.UID]; ok {
			b.State, b.Reason, b.ChangedAt = string(x.State), x.Reason, httpapi.TimeOrNil(&x.ChangedAt)
			if !public && !x.Actor.IsZero() {
				b.By = x.Actor.String()
			}
		}
		for _, f := range files[it.UID] {
			b.Files = append(b.Files, fileFrom(f))
		}
		out[i] = b
	}
	return out
}

func fileFrom(f postgres.File) fileResponse {
	b := fileResponse{UID: f.Object.String(), Name: f.Name, ContentLength: f.Held, IntendedSize: f.Size, MIMEType: f.MIMEType,
		MalwareStatus: string(f.Malware), HandedInAt: httpapi.TimeOrNil(f.HandedInAt)}
	if f.Transfer.IsZero() {
		b.ClientID = f.ClientID
	} else {
		b.Transfer = f.Transfer.String()
	}
	return b
}

type partyResponse struct {
	UID         string          `json:"uid"`
	Email       string          `json:"email"`
	Name        string          `json:"name,omitempty"`
	Language    string          `json:"language"`
	Joined      bool            `json:"joined"`
	Link        string          `json:"link,omitempty"`
	Version     int64           `json:"version"`
	Reminders   bool            `json:"reminders"`
	OpenedAt    *httpapi.Time   `json:"openedAt,omitempty"`
	HandedInAt  *httpapi.Time   `json:"handedInAt,omitempty"`
	Late        bool            `json:"late"`
	CompletedAt *httpapi.Time   `json:"completedAt,omitempty"`
	RemindAt    *httpapi.Time   `json:"remindAt,omitempty"`
	RemindedAt  *httpapi.Time   `json:"remindedAt,omitempty"`
	Items       []stateResponse `json:"items"`
}

// detailResponse is a request as its owner sees it.
type detailResponse struct {
	ownResponse
	Link    string          `json:"link,omitempty"` // public
	Items   []itemResponse  `json:"items"`
	Parties []partyResponse `json:"parties"`
}

func detailFrom(d service.Detail) detailResponse {
	b := detailResponse{ownResponse: ownFrom(d.Request), Link: d.Link, Items: itemsFrom(d.Items), Parties: []partyResponse{}}
	for _, p := range d.Parties {
		b.Parties = append(b.Parties, partyResponse{
			UID: p.UID.String(), Email: p.Email, Name: p.Name, Language: p.Locale, Joined: p.Joined, Link: p.Link, Version: p.Version,
			Reminders: p.Reminders, OpenedAt: httpapi.TimeOrNil(p.OpenedAt), HandedInAt: httpapi.TimeOrNil(p.HandedInAt), Late: p.Late,
			CompletedAt: httpapi.TimeOrNil(p.CompletedAt), RemindAt: httpapi.TimeOrNil(p.RemindAt), RemindedAt: httpapi.TimeOrNil(p.RemindedAt),
			Items: statesFrom(d.Items, p.Items, p.Files, false),
		})
	}
	return b
}

// publicResponse is a request as the holder of a link sees it.
type publicResponse struct {
	basicResponse
	Now     httpapi.Time    `json:"now"`
	Owner   personResponse  `json:"owner"`
	Party   *personResponse `json:"party,omitempty"` // left out: the link is public
	Items   []itemResponse  `json:"items"`
	States  []stateResponse `json:"states"`
	HandIns []handInOf      `json:"handIns"`
	Done    bool            `json:"complete"`
}

type personResponse struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email"`
}

type handInOf struct {
	Transfer string       `json:"transfer"`
	At       httpapi.Time `json:"at"`
	Late     bool         `json:"late"`
	Files    int          `json:"files"`
}

func publicFrom(v service.View) publicResponse {
	b := publicResponse{
		basicResponse: basicFrom(v.Request), Now: httpapi.Time(v.Now), Owner: personResponse{v.Owner.Name, v.Owner.Email},
		Items: itemsFrom(v.Items), States: []stateResponse{}, HandIns: []handInOf{},
	}
	if v.Party == nil {
		return b
	}
	b.Party, b.Done = &personResponse{v.Party.Name, v.Party.Email}, v.Party.CompletedAt != nil
	b.States = statesFrom(v.Items, v.States, v.Files, true)
	for _, h := range v.Handed {
		b.HandIns = append(b.HandIns, handInOf{Transfer: h.Transfer.String(), At: httpapi.Time(h.At), Late: v.Passed(h.At), Files: h.Files})
	}
	return b
}
