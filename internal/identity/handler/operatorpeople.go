// People in the console over HTTP: list, report, and changes with a reason.

package handler

import (
	"context"
	"net/http"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
)

type listedPersonResponse struct {
	UID          id.Person          `json:"uid"`
	Name         *string            `json:"name"`
	Email        string             `json:"email"`
	Verified     bool               `json:"verified"`
	HasFactor    bool               `json:"hasFactor"`
	Operator     bool               `json:"operator"`
	Organization *organizationNamed `json:"organization"`
	CreatedAt    httpapi.Time       `json:"createdAt"`
	LastLoginAt  *httpapi.Time      `json:"lastLoginAt"`
}

type organizationNamed struct {
	UID  id.Organization `json:"uid"`
	Name *string         `json:"name"`
}

func listedPersonFrom(p identity.ListedPerson) listedPersonResponse {
	out := listedPersonResponse{
		UID: p.UID, Name: orNull(p.Name), Email: p.Email, Verified: p.Verified, HasFactor: p.HasFactor, Operator: p.Operator,
		CreatedAt: httpapi.Time(p.CreatedAt), LastLoginAt: httpapi.TimeOrNil(p.LastLoginAt),
	}
	if !p.Organization.IsZero() {
		out.Organization = &organizationNamed{p.Organization, orNull(p.OrganizationName)}
	}
	return out
}

type peopleResponse struct {
	People []listedPersonResponse `json:"people"`
	Next   string                 `json:"next,omitempty"`
}

// listPeople handles GET /people of the console.
func (h *Handler) listPeople(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	query := service.PeopleQuery{ByName: q.Word("by", "email", "name") == "name", Search: q.One("search"), After: q.One("after")}
	if err := q.Err(); err != nil {
		return err
	}
	people, next, err := h.service.People(r.Context(), query)
	if err != nil {
		return err
	}
	out := peopleResponse{People: make([]listedPersonResponse, len(people)), Next: next}
	for i, p := range people {
		out.People[i] = listedPersonFrom(p)
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

type newPersonRequest struct {
	httpapi.Change
	Address  string `json:"address"`
	Name     string `json:"name"`
	Locale   string `json:"locale"`
	TimeZone string `json:"timeZone"`
}

type newPersonResponse struct {
	UID id.Person `json:"uid"`
}

// createPerson handles POST /people of the console.
func (h *Handler) createPerson(w http.ResponseWriter, r *http.Request) error {
	var in newPersonRequest
	by, err := httpapi.DecodeChange(r, audit.Operator, &in)
	if err != nil {
		return err
	}
	p, err := h.service.InvitePerson(r.Context(), by, service.NewAccount{
		Address: in.Address, Name: in.Name, Locale: in.Locale, TimeZone: in.TimeZone,
	})
	if err != nil {
		return err
	}
	at := h.hosts.URL(by.Client.Host.Name, httpapi.OperatorBase+"/people/"+p.String())
	return httpapi.Created(w, at, newPersonResponse{p})
}

type personReportResponse struct {
	UID               id.Person          `json:"uid"`
	Name              *string            `json:"name"`
	Locale            string             `json:"locale"`
	TimeZone          string             `json:"timeZone"`
	CreatedAt         httpapi.Time       `json:"createdAt"`
	LastLoginAt       *httpapi.Time      `json:"lastLoginAt"`
	SuspendedAt       *httpapi.Time      `json:"suspendedAt"`
	Operator          bool               `json:"operator"`
	Emails            []reportedEmail    `json:"emails"`
	Organization      *organizationNamed `json:"organization"`
	Roles             []string           `json:"roles"`
	Authenticators    []reportedFactor   `json:"authenticators"`
	Sessions          []reportedSession  `json:"sessions"`
	UploadVolumeBytes *int64             `json:"uploadVolumeBytes"`
}

type reportedEmail struct {
	Email    string `json:"email"`
	Primary  bool   `json:"primary"`
	Verified bool   `json:"verified"`
}

type reportedFactor struct {
	Type         string        `json:"type"`
	Name         *string       `json:"name"`
	RegisteredAt httpapi.Time  `json:"registeredAt"`
	UsedAt       *httpapi.Time `json:"usedAt"`
}

type reportedSession struct {
	SID       id.Session   `json:"sid"`
	IssuedAt  httpapi.Time `json:"issuedAt"`
	UsedAt    httpapi.Time `json:"usedAt"`
	ExpiresAt httpapi.Time `json:"expiresAt"`
	UserAgent string       `json:"userAgent"`
	IP        string       `json:"ip"`
}

// getPerson handles GET /people/{person} of the console.
func (h *Handler) getPerson(w http.ResponseWriter, r *http.Request) error {
	p, err := personUID(r)
	if err != nil {
		return err
	}
	report, err := h.service.ReportPerson(r.Context(), p)
	if err != nil {
		return err
	}
	out := personReportResponse{
		UID: report.UID, Name: orNull(report.Name), Locale: report.Locale, TimeZone: report.TimeZone, CreatedAt: httpapi.Time(report.CreatedAt),
		LastLoginAt: httpapi.TimeOrNil(report.LastLoginAt), SuspendedAt: httpapi.TimeOrNil(report.SuspendedAt), Operator: report.Operator,
		Roles:  append([]string{}, report.Roles...),
		Emails: []reportedEmail{}, Authenticators: []reportedFactor{}, Sessions: []reportedSession{}, UploadVolumeBytes: report.UploadVolume,
	}
	if o := report.Organization; o != nil {
		out.Organization = &organizationNamed{o.UID, orNull(o.Name)}
	}
	for _, e := range report.Emails {
		out.Emails = append(out.Emails, reportedEmail{e.Address, e.Primary, e.Verified})
	}
	for _, a := range report.Authenticators {
		out.Authenticators = append(out.Authenticators, reportedFactor{a.Type, orNull(a.Name), httpapi.Time(a.RegisteredAt),
			httpapi.TimeOrNil(a.UsedAt)})
	}
	for _, s := range report.Sessions {
		out.Sessions = append(out.Sessions, reportedSession{s.SID, httpapi.Time(s.IssuedAt), httpapi.Time(s.UsedAt), httpapi.Time(s.ExpiresAt),
			s.UserAgent, s.IP})
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

// personUID returns the person of the path.
// Errors: identity.ErrPersonNotFound.
func personUID(r *http.Request) (id.Person, error) {
	p, err := id.Parse[id.Person](httpapi.Param(r, "person"))
	if err != nil {
		return p, identity.ErrPersonNotFound
	}
	return p, nil
}

// changePerson returns the handler of POST /people/{person}/… of the console, which needs a reason only.
func (h *Handler) changePerson(do func(ctx context.Context, by audit.Actor, reference string) error) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := personUID(r)
		if err != nil {
			return err
		}
		by, err := httpapi.DecodeChange(r, audit.Operator, &httpapi.Change{})
		if err != nil {
			return err
		}
		if err := do(r.Context(), by, p.String()); err != nil {
			return err
		}
		return httpapi.NoContent(w)
	}
}

type volumeRequest struct {
	httpapi.Change
	UploadVolumeGB *float64 `json:"uploadVolumeGb"`
}

// setPersonLimits handles POST /people/{person}/limits of the console.
func (h *Handler) setPersonLimits(w http.ResponseWriter, r *http.Request) error {
	p, err := personUID(r)
	if err != nil {
		return err
	}
	var in volumeRequest
	by, err := httpapi.DecodeChange(r, audit.Operator, &in)
	if err != nil {
		return err
	}
	if err := h.service.SetUploadVolume(r.Context(), by, p.String(), in.UploadVolumeGB); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// exportPerson handles POST /people/{person}/export of the console. The export has no contents of transfers.
func (h *Handler) exportPerson(w http.ResponseWriter, r *http.Request) error {
	p, err := personUID(r)
	if err != nil {
		return err
	}
	by, err := httpapi.DecodeChange(r, audit.Operator, &httpapi.Change{})
	if err != nil {
		return err
	}
	end, ok := h.exports.begin(p)
	if !ok {
		return errExporting
	}
	defer end()
	record, err := h.service.ExportPerson(r.Context(), p.String())
	if err == nil {
		err = h.service.RecordExport(r.Context(), by, p)
	}
	if err != nil {
		return err
	}
	return h.sendExport(w, r, record, false)
}
