package handler

import (
	"context"
	"net/http"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/token"
)

// operatorOrganizationRoutes holds organizations in the console.
func (h *Handler) operatorOrganizationRoutes(reads, changes token.Auth) []httpapi.Route {
	const one = "/organizations/{organization}"
	return []httpapi.Route{
		{Method: "GET", Pattern: "/organizations", Auth: reads, Handler: h.listOrganizations},
		{Method: "POST", Pattern: "/organizations", Auth: changes, Handler: h.createEmptyOrganization, Creates: true,
			Harmless: "nobody is in a new one"},
		{Method: "GET", Pattern: one, Auth: reads, Handler: h.reportOrganization},
		{Method: "GET", Pattern: one + "/members", Auth: reads, Handler: h.listOrganizationMembers},
		{Method: "POST", Pattern: one + "/invitations", Auth: changes, Handler: h.createSharedInvitation, Creates: true,
			Harmless: "shared ones grant no Organization.Admin"},
		{Method: "POST", Pattern: one + "/set", Auth: changes, Handler: changeOrganization(h.setOrganization),
			Sensitive: []httpapi.Sensitive{{Change: token.FactorWaived, When: "mfaRequired becomes false"}}},
		{Method: "POST", Pattern: one + "/limits", Auth: changes, Handler: changeOrganization(h.setOrganizationLimits),
			Harmless: "the plan is the operator's"},
		{Method: "POST", Pattern: one + "/subscribe", Auth: changes, Handler: changeOrganization(h.subscribeOrganization),
			Harmless: "the plan is the operator's"},
		{Method: "POST", Pattern: one + "/host", Auth: changes, Handler: changeOrganization(h.setOrganizationHost),
			Sensitive: []httpapi.Sensitive{{Change: token.HostnameChanged, When: "another hostname"}}},
		{Method: "POST", Pattern: one + "/set-member", Auth: changes, Handler: changeOrganization(h.setMember), Sensitive: []httpapi.Sensitive{
			{Change: token.AdministratorAdded, When: "Organization.Admin is added"},
			{Change: token.AdministratorRemoved, When: "Organization.Admin is removed"}}},
		{Method: "POST", Pattern: one + "/remove-member", Auth: changes, Handler: changeOrganization(h.unsetMember),
			Sensitive: []httpapi.Sensitive{{Change: token.AdministratorRemoved, When: "the member is an administrator"}}},
	}
}

// operatedOrganization returns the organization of the path.
// Errors: identity.ErrOrganizationNotFound.
func operatedOrganization(r *http.Request) (id.Organization, error) {
	o, err := id.Parse[id.Organization](httpapi.Param(r, "organization"))
	if err != nil {
		return o, identity.ErrOrganizationNotFound
	}
	return o, nil
}

type listedOrganizationResponse struct {
	UID            id.Organization `json:"uid"`
	Name           *string         `json:"name"`
	Free           bool            `json:"free"`
	Hostname       *string         `json:"hostname"`
	Members        int             `json:"members"`
	MFARequired    bool            `json:"mfaRequired"`
	ServiceEnabled bool            `json:"serviceEnabled"`
	CreatedAt      httpapi.Time    `json:"createdAt"`
}

type organizationsResponse struct {
	Organizations []listedOrganizationResponse `json:"organizations"`
	Next          string                       `json:"next,omitempty"`
}

// listOrganizations handles GET /organizations of the console.
func (h *Handler) listOrganizations(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	query := service.OrganizationsQuery{Name: q.One("name"), Hostname: q.One("hostname"), Organization: q.One("organization"),
		After: q.One("after")}
	if err := q.Err(); err != nil {
		return err
	}
	list, next, err := h.service.Organizations(r.Context(), query)
	if err != nil {
		return err
	}
	out := organizationsResponse{Organizations: make([]listedOrganizationResponse, len(list)), Next: next}
	for i, o := range list {
		out.Organizations[i] = listedOrganizationResponse{
			UID: o.UID, Name: orNull(o.Name), Free: o.Free, Hostname: orNull(o.Hostname), Members: o.Members, MFARequired: o.MFARequired,
			ServiceEnabled: o.ServiceEnabled, CreatedAt: httpapi.Time(o.CreatedAt),
		}
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

type organizationReportResponse struct {
	UID           id.Organization             `json:"uid"`
	Free          bool                        `json:"free"`
	ExternalUID   *string                     `json:"externalUid"`
	MFARequired   bool                        `json:"mfaRequired"`
	CreatedAt     httpapi.Time                `json:"createdAt"`
	Members       int                         `json:"members"`
	Passkeys      int                         `json:"passkeys"`
	Profile       organizationProfileResponse `json:"profile"`
	Claim         *hostClaimResponse          `json:"claim"`
	Subscriptions []reportedSubscription      `json:"subscriptions"`
	Limitations   map[string]any              `json:"limitations"`
	OwnLimits     []string                    `json:"ownLimits"`
}

type hostClaimResponse struct {
	Hostname string `json:"hostname"`
	Record   string `json:"record"`
	Key      string `json:"key"`
}

type reportedSubscription struct {
	Domain    string        `json:"domain"`
	Product   *string       `json:"product"`
	Name      *string       `json:"name"`
	Status    string        `json:"status"`
	CreatedAt httpapi.Time  `json:"createdAt"`
	ExpiresAt *httpapi.Time `json:"expiresAt"`
}

// reportOrganization handles GET /organizations/{organization} of the console.
func (h *Handler) reportOrganization(w http.ResponseWriter, r *http.Request) error {
	o, err := operatedOrganization(r)
	if err != nil {
		return err
	}
	report, err := h.service.ReportOrganization(r.Context(), o)
	if err != nil {
		return err
	}
	out := organizationReportResponse{
		UID: report.UID, Free: report.Free, ExternalUID: orNull(report.ExternalUID), MFARequired: report.MFARequired,
		CreatedAt: httpapi.Time(report.CreatedAt),
		Members:   report.Members, Passkeys: report.Passkeys, Profile: organizationProfileFrom(report.Profile),
		Subscriptions: make([]reportedSubscription, len(report.Subscriptions)), Limitations: limitationsFrom(report.UID, report.Limits),
		OwnLimits: report.OwnLimits,
	}
	if c := report.Claim; c.Host != "" {
		out.Claim = &hostClaimResponse{c.Host, c.Record(), c.Key}
	}
	for i, s := range report.Subscriptions {
		out.Subscriptions[i] = reportedSubscription{
			s.Domain, orNull(s.ProductID), orNull(s.DisplayName), s.Status, httpapi.Time(s.CreatedAt), httpapi.TimeOrNil(s.ExpiresAt),
		}
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

type newOrganizationRequest struct {
	httpapi.Change
	organizationRequest
}

type createdOrganizationResponse struct {
	UID id.Organization `json:"uid"`
}

// createEmptyOrganization handles POST /organizations of the console.
func (h *Handler) createEmptyOrganization(w http.ResponseWriter, r *http.Request) error {
	var in newOrganizationRequest
	by, err := httpapi.DecodeChange(r, audit.Operator, &in)
	if err != nil {
		return err
	}
	o, err := h.service.CreateEmptyOrganization(r.Context(), by, in.domain())
	if err != nil {
		return err
	}
	at := h.hosts.URL(httpapi.Client(r.Context()).Host.Name, httpapi.OperatorBase+"/organizations/"+o.UID.String())
	return httpapi.Created(w, at, createdOrganizationResponse{o.UID})
}

// changeOrganization returns the handler of POST /organizations/{organization}/… of the console. do gets the organization as a reference.
func changeOrganization[B any, P interface {
	*B
	httpapi.Reasoned
}](do func(ctx context.Context, by audit.Actor, organization string, in P) error) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		o, err := operatedOrganization(r)
		if err != nil {
			return err
		}
		in := P(new(B))
		by, err := httpapi.DecodeChange(r, audit.Operator, in)
		if err != nil {
			return err
		}
		if err := do(r.Context(), by, o.String(), in); err != nil {
			return err
		}
		return httpapi.NoContent(w)
	}
}

// organizationSettingsRequest has what a change sets. The empty text unsets a member.
type organizationSettingsRequest struct {
	httpapi.Change
	identity.OrganizationChange
}

func (h *Handler) setOrganization(ctx context.Context, by audit.Actor, organization string, in *organizationSettingsRequest) error {
	return h.service.SetOrganization(ctx, by, organization, in.OrganizationChange)
}

// organizationLimitsRequest has limitations by name: null for the value of the plan, or a value.
type organizationLimitsRequest map[string]any

// Stated implements httpapi.Reasoned.
func (in organizationLimitsRequest) Stated() string {
	reason, _ := in["reason"].(string)
	return reason
}

func (h *Handler) setOrganizationLimits(ctx context.Context, by audit.Actor, organization string, in *organizationLimitsRequest) error {
	var change identity.LimitsChange
	var problems fault.Problems
	for _, l := range identity.Limitations() {
		if value, given := (*in)[l.Name]; given {
			if err := l.Set(&change, value); err != nil {
				problems.Add(l.Name, err.Error())
			}
		}
	}
	if err := problems.Err(); err != nil {
		return err
	}
	return h.service.SetLimits(ctx, by, organization, change)
}

type subscriptionRequest struct {
	httpapi.Change
	Domain    string        `json:"domain"`
	Product   *string       `json:"product"`
	Name      *string       `json:"name"`
	Status    *string       `json:"status"`
	ExpiresAt *httpapi.Time `json:"expiresAt"`
}

func (h *Handler) subscribeOrganization(ctx context.Context, by audit.Actor, organization string, in *subscriptionRequest) error {
	return h.service.Subscribe(ctx, by, organization, service.NewSubscription{
		Domain: in.Domain, Product: orEmpty(in.Product), Name: orEmpty(in.Name), Status: orEmpty(in.Status),
		ExpiresAt: (*time.Time)(in.ExpiresAt),
	})
}

type hostnameRequest struct {
	httpapi.Change
	Hostname string `json:"hostname"`
}

func (h *Handler) setOrganizationHost(ctx context.Context, by audit.Actor, organization string, in *hostnameRequest) error {
	return h.service.SetHostname(ctx, by, organization, in.Hostname)
}
