package handler

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

// operatorOrganizationRoutes holds organizations in the console.
func (h *Handler) operatorOrganizationRoutes(reads, changes token.Auth) []httpapi.Route {
	const one = "/organizations/{organization}"
	return []httpapi.Route{
		{Method: "GET", Pattern: "/organizations", Auth: reads, Handler: h.listOrganizations},
		{Method: "POST", Pattern: "/organizations", Auth: changes, Handler: h.createOrganizationByOperator, Creates: true},
		{Method: "GET", Pattern: one, Auth: reads, Handler: h.reportOrganization},
		{Method: "GET", Pattern: one + "/members", Auth: reads, Handler: h.listOrganizationMembers},
		{Method: "POST", Pattern: one + "/invitations", Auth: changes, Handler: h.createSharedInvitation, Creates: true},
		{Method: "POST", Pattern: one + "/set", Auth: changes, Handler: changeOrganization(h.setOrganization)},
		{Method: "POST", Pattern: one + "/limits", Auth: changes, Handler: changeOrganization(h.setOrganizationLimits)},
		{Method: "POST", Pattern: one + "/subscribe", Auth: changes, Handler: changeOrganization(h.subscribeOrganization)},
		{Method: "POST", Pattern: one + "/host", Auth: changes, Handler: changeOrganization(h.setOrganizationHost)},
		{Method: "POST", Pattern: one + "/set-member", Auth: changes, Handler: changeOrganization(h.setMemberByOperator)},
		{Method: "POST", Pattern: one + "/remove-member", Auth: changes, Handler: changeOrganization(h.removeMemberByOperator)},
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
	query := service.OrganizationsQuery{Name: q.One("name"), Hostname: q.One("hostname"), Organization: q.One("organization"), After: q.One("after")}
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
	Limitations   limitationsResponse         `json:"limitations"`
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
		UID: report.UID, Free: report.Free, ExternalUID: orNull(report.ExternalUID), MFARequired: report.MFARequired, CreatedAt: httpapi.Time(report.CreatedAt),
		Members: report.Members, Passkeys: report.Passkeys, Profile: organizationProfileFrom(report.Profile),
		Subscriptions: make([]reportedSubscription, len(report.Subscriptions)), Limitations: limitationsFrom(report.Limits), OwnLimits: report.OwnLimits,
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

type listedMemberResponse struct {
	UID   id.Person    `json:"uid"`
	Name  *string      `json:"name"`
	Email *string      `json:"email"`
	Roles []string     `json:"roles"`
	Since httpapi.Time `json:"since"`
}

type listedMembersResponse struct {
	Members []listedMemberResponse `json:"members"`
	Next    string                 `json:"next,omitempty"`
}

// listOrganizationMembers handles GET /organizations/{organization}/members of the console.
func (h *Handler) listOrganizationMembers(w http.ResponseWriter, r *http.Request) error {
	o, err := operatedOrganization(r)
	if err != nil {
		return err
	}
	q := httpapi.QueryOf(r)
	after := q.One("after")
	if err := q.Err(); err != nil {
		return err
	}
	list, next, err := h.service.OrganizationMembers(r.Context(), o, after)
	if err != nil {
		return err
	}
	out := listedMembersResponse{Members: make([]listedMemberResponse, len(list)), Next: next}
	for i, m := range list {
		out.Members[i] = listedMemberResponse{m.UID, orNull(m.Name), orNull(m.Email), m.Roles, httpapi.Time(m.Since)}
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

// createOrganizationByOperator handles POST /organizations of the console.
func (h *Handler) createOrganizationByOperator(w http.ResponseWriter, r *http.Request) error {
	var in newOrganizationRequest
	r, err := httpapi.DecodeChange(r, &in)
	if err != nil {
		return err
	}
	o, err := h.service.CreateEmptyOrganization(r.Context(), in.domain())
	if err != nil {
		return err
	}
	at := h.hosts.URL(httpapi.Client(r.Context()).Host.Name, httpapi.OperatorBase+"/organizations/"+o.UID.String())
	return httpapi.Created(w, at, createdOrganizationResponse{o.UID})
}

type sharedInvitationRequest struct {
	httpapi.Change
	Roles []string `json:"roles"`
}

type sharedInvitationResponse struct {
	Key string `json:"key"`
	URL string `json:"url"`
}

// createSharedInvitation handles POST /organizations/{organization}/invitations of the console.
func (h *Handler) createSharedInvitation(w http.ResponseWriter, r *http.Request) error {
	o, err := operatedOrganization(r)
	if err != nil {
		return err
	}
	var in sharedInvitationRequest
	if r, err = httpapi.DecodeChange(r, &in); err != nil {
		return err
	}
	i, err := h.service.CreateSharedInvitation(r.Context(), o.String(), in.Roles)
	if err != nil {
		return err
	}
	host := cmp.Or(i.Organization.Hostname, httpapi.Client(r.Context()).Host.Name)
	at := h.hosts.URL(host, "/invitation/"+url.PathEscape(i.Key))
	return httpapi.Created(w, at, sharedInvitationResponse{i.Key, at})
}

// changeOrganization returns the handler of POST /organizations/{organization}/… of the console. do gets the organization as a reference.
func changeOrganization[B any, P interface {
	*B
	httpapi.Reasoned
}](do func(ctx context.Context, organization string, in P) error) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		o, err := operatedOrganization(r)
		if err != nil {
			return err
		}
		in := P(new(B))
		if r, err = httpapi.DecodeChange(r, in); err != nil {
			return err
		}
		if err := do(r.Context(), o.String(), in); err != nil {
			return err
		}
		return httpapi.NoContent(w)
	}
}

// organizationSettingsRequest has what a change sets. The empty text unsets a member.
type organizationSettingsRequest struct {
	httpapi.Change
	Name             *string `json:"name"`
	AddressLine1     *string `json:"addressLine1"`
	AddressLine2     *string `json:"addressLine2"`
	PostCode         *string `json:"postCode"`
	City             *string `json:"city"`
	State            *string `json:"state"`
	Country          *string `json:"country"`
	PhoneNumber      *string `json:"phoneNumber"`
	GlobalSignature  *string `json:"globalSignature"`
	LegalNoticeURL   *string `json:"legalNoticeUrl"`
	PrivacyPolicyURL *string `json:"privacyPolicyUrl"`
	Locale           *string `json:"locale"`
	TimeZone         *string `json:"timeZone"`
	ExternalUID      *string `json:"externalUid"`
	MFARequired      *bool   `json:"mfaRequired"`
}

// assignments returns the arguments of `consign org set`.
func (in *organizationSettingsRequest) assignments() (all []string) {
	for _, m := range []struct {
		name  string
		value *string
	}{
		{"name", in.Name}, {"addressLine1", in.AddressLine1}, {"addressLine2", in.AddressLine2}, {"postCode", in.PostCode}, {"city", in.City},
		{"state", in.State}, {"country", in.Country}, {"phoneNumber", in.PhoneNumber}, {"globalSignature", in.GlobalSignature},
		{"legalNoticeUrl", in.LegalNoticeURL}, {"privacyPolicyUrl", in.PrivacyPolicyURL}, {"locale", in.Locale}, {"timeZone", in.TimeZone},
		{"externalUid", in.ExternalUID},
	} {
		if m.value != nil {
			all = append(all, m.name+"="+*m.value)
		}
	}
	if in.MFARequired != nil {
		all = append(all, "mfaRequired="+strconv.FormatBool(*in.MFARequired))
	}
	return all
}

func (h *Handler) setOrganization(ctx context.Context, organization string, in *organizationSettingsRequest) error {
	return h.service.SetOrganization(ctx, organization, in.assignments())
}

// limit is a limitation in a request: absent, null for the value of the plan, or a value.
type limit[T bool | int | float64 | string] struct {
	given bool
	value *T
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *limit[T]) UnmarshalJSON(raw []byte) error {
	l.given = true
	if json.Unmarshal(raw, &l.value) == nil {
		return nil
	}
	want := map[any]string{false: "true, false", 0: "a whole number", 0.0: "a number", "": "a string"}
	return strictjson.Invalid("must be " + want[*new(T)] + " or null")
}

// argument returns the argument of `consign org limits`, empty for an absent limitation.
func (l limit[T]) argument(name string) string {
	switch {
	case !l.given:
		return ""
	case l.value == nil:
		return name + "=default"
	}
	if n, ok := any(*l.value).(float64); ok {
		return name + "=" + strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprintf("%s=%v", name, *l.value)
}

type organizationLimitsRequest struct {
	httpapi.Change
	ServiceEnabled            limit[bool]    `json:"serviceEnabled"`
	Users                     limit[int]     `json:"users"`
	TransferVolumeGB          limit[float64] `json:"transferVolumeGb"`
	StorageVolumeGB           limit[float64] `json:"storageVolumeGb"`
	GDPRContract              limit[bool]    `json:"gdprContract"`
	SecureSpaces              limit[bool]    `json:"secureSpaces"`
	MimeTypeFilter            limit[bool]    `json:"mimeTypeFilter"`
	NewTransferLimit          limit[int]     `json:"newTransferLimit"`
	NewTransferDrainRate      limit[float64] `json:"newTransferDrainRate"`
	NewTransferReceiversLimit limit[int]     `json:"newTransferReceiversLimit"`
	AdminPortal               limit[bool]    `json:"adminPortal"`
	MailboxGroups             limit[int]     `json:"mailboxGroups"`
	ChangeHostname            limit[string]  `json:"changeHostname"`
}

// assignments returns the arguments of `consign org limits`.
func (in *organizationLimitsRequest) assignments() []string {
	all := []string{
		in.ServiceEnabled.argument("serviceEnabled"), in.Users.argument("users"), in.TransferVolumeGB.argument("transferVolumeGb"),
		in.StorageVolumeGB.argument("storageVolumeGb"), in.GDPRContract.argument("gdprContract"), in.SecureSpaces.argument("secureSpaces"),
		in.MimeTypeFilter.argument("mimeTypeFilter"), in.NewTransferLimit.argument("newTransferLimit"),
		in.NewTransferDrainRate.argument("newTransferDrainRate"), in.NewTransferReceiversLimit.argument("newTransferReceiversLimit"),
		in.AdminPortal.argument("adminPortal"), in.MailboxGroups.argument("mailboxGroups"), in.ChangeHostname.argument("changeHostname"),
	}
	return slices.DeleteFunc(all, func(a string) bool { return a == "" })
}

func (h *Handler) setOrganizationLimits(ctx context.Context, organization string, in *organizationLimitsRequest) error {
	return h.service.SetLimits(ctx, organization, in.assignments())
}

type subscriptionRequest struct {
	httpapi.Change
	Domain    string        `json:"domain"`
	Product   *string       `json:"product"`
	Name      *string       `json:"name"`
	Status    *string       `json:"status"`
	ExpiresAt *httpapi.Time `json:"expiresAt"`
}

func (h *Handler) subscribeOrganization(ctx context.Context, organization string, in *subscriptionRequest) error {
	return h.service.Subscribe(ctx, organization, service.NewSubscription{
		Domain: in.Domain, Product: orEmpty(in.Product), Name: orEmpty(in.Name), Status: orEmpty(in.Status), ExpiresAt: (*time.Time)(in.ExpiresAt),
	})
}

type hostnameRequest struct {
	httpapi.Change
	Hostname string `json:"hostname"`
}

func (h *Handler) setOrganizationHost(ctx context.Context, organization string, in *hostnameRequest) error {
	return h.service.SetHostname(ctx, organization, in.Hostname)
}

type membershipRequest struct {
	httpapi.Change
	Person string   `json:"person"`
	Roles  []string `json:"roles"`
}

func (h *Handler) setMemberByOperator(ctx context.Context, organization string, in *membershipRequest) error {
	if in.Roles == nil {
		return fault.ErrInvalid.With("roles: is required; it may be an empty list")
	}
	return h.service.SetMember(ctx, organization, in.Person, in.Roles)
}

type formerMemberRequest struct {
	httpapi.Change
	Person string `json:"person"`
}

func (h *Handler) removeMemberByOperator(ctx context.Context, organization string, in *formerMemberRequest) error {
	return h.service.UnsetMember(ctx, organization, in.Person)
}
