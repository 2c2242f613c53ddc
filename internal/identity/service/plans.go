package service

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// The plan of the free organization at the first start, and what differs for others (contract 3.19).
const (
	gigabyte          = 1_000_000_000
	planUsers         = 100_000
	newUsers          = 100
	planVolume        = 1000 * gigabyte
	planReceivers     = 100
	planMailboxGroups = 10
)

// FreeOrganization is how operators' commands name the free organization. In all of them an organization is a uid, a
// hostname, the address of a member, or this.
const FreeOrganization = "free"

// planDefault as a value gives a limit back to the plan.
const planDefault = "default"

func (s *Service) createFree(ctx context.Context, tx *postgres.Store) (id.Organization, error) {
	free := id.New[id.Organization]()
	err := tx.InsertFreeOrganization(ctx, postgres.NewFreeOrganization{
		UID: free, Name: s.settings.ProductName, Locale: i18n.Default, TimeZone: "UTC", CreatedAt: s.now(), Users: planUsers,
		Transfer: planVolume, Storage: planVolume, Transfers: s.settings.NewTransfers.Capacity, Drain: s.settings.NewTransfers.PerSecond, Receivers: planReceivers, Groups: planMailboxGroups,
	})
	if err != nil {
		return free, err
	}
	return free, s.record(ctx, tx, audit.Entry{Action: "organization.create", Object: free.String(), Organization: free})
}

// OpenOrganization makes an organization without members, for an operator. Errors: fault.ErrInvalid.
func (s *Service) OpenOrganization(ctx context.Context, in NewOrganization) (identity.OrganizationDetails, error) {
	var problems fault.Problems
	if err := text.Required(in.Name, text.MaxName); err != nil {
		problems.Add("name", err.Error())
	}
	checkProfile(&problems, "", in.Locale, in.TimeZone)
	if err := problems.Err(); err != nil {
		return identity.OrganizationDetails{}, err
	}
	uid := id.New[id.Organization]()
	var o identity.OrganizationDetails
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		err := tx.InsertOrganization(ctx, postgres.NewOrganization{
			UID: uid, Name: in.Name, Locale: or(in.Locale, i18n.Default), TimeZone: or(in.TimeZone, "UTC"), Users: newUsers, CreatedAt: s.now(),
		})
		if err != nil {
			return err
		}
		if o, err = tx.Organization(ctx, uid); err != nil {
			return err
		}
		return s.recordOf(ctx, tx, token.Caller{}, uid, "organization.create", nil)
	})
	return o, describe("open organization", err)
}

// OrganizationReport is everything that an operator can see of an organization.
type OrganizationReport struct {
	identity.OrganizationDetails
	Limits  identity.Limits
	Members []identity.Member
	Claim   identity.HostClaim // a hostname that is still to be proved; zero: none
}

// ShowOrganization returns everything of an organization. Errors: identity.ErrOrganizationNotFound.
func (s *Service) ShowOrganization(ctx context.Context, organization string) (r OrganizationReport, err error) {
	o, err := s.store.FindOrganization(ctx, organization)
	if err != nil {
		return r, err
	}
	if r.OrganizationDetails, err = s.store.Organization(ctx, o); err != nil {
		return r, err
	}
	if r.Limits, err = s.store.Limits(ctx, o); err != nil {
		return r, err
	}
	if r.Claim, err = s.store.HostClaim(ctx, o); err != nil {
		return r, err
	}
	members, err := s.members(ctx, o)
	if err != nil {
		return r, err
	}
	for m, err := range members {
		if err != nil {
			return r, err
		}
		r.Members = append(r.Members, m)
	}
	return r, nil
}

// SetLimits sets limitations of an organization, given as name=value with the names of the client environment; the value
// default gives one back to the free organization's plan. Limits hold on every replica at once.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound.
func (s *Service) SetLimits(ctx context.Context, organization string, assignments []string) error {
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		o, err := tx.FindOrganization(ctx, organization)
		if err != nil {
			return err
		}
		details, err := tx.Organization(ctx, o)
		if err != nil {
			return err
		}
		var problems fault.Problems
		for _, a := range assignments {
			name, value, _ := strings.Cut(a, "=")
			parsed, problem := parseLimit(name, value)
			if problem == "" && parsed == nil && details.Free {
				problem = "the free organization's limits are the plan itself: give a value"
			}
			if problem != "" {
				problems.Add(name, problem)
				continue
			}
			if err := tx.SetLimit(ctx, o, name, parsed); err != nil {
				return err
			}
		}
		if err := problems.Err(); err != nil {
			return err
		}
		if err := tx.NotifyDirectory(ctx); err != nil {
			return err
		}
		return s.recordOf(ctx, tx, token.Caller{}, o, "organization.limits", map[string]string{"limits": strings.Join(assignments, " ")})
	})
	return describe("set limits", err)
}

// SetPersonLimits sets a person's own limits, given as name=value; there is uploadVolumeGb, monthly, and the value default
// gives it back to the server. Errors: fault.ErrInvalid, identity.ErrPersonNotFound.
func (s *Service) SetPersonLimits(ctx context.Context, person string, assignments []string) error {
	p, err := s.find(ctx, person)
	if err != nil {
		return err
	}
	var problems fault.Problems
	var volume *int64
	for _, a := range assignments {
		name, value, _ := strings.Cut(a, "=")
		if name != "uploadVolumeGb" {
			problems.Add(name, "is no limit of a person; there is uploadVolumeGb")
			continue
		}
		if value == planDefault {
			continue
		}
		parsed, problem := parseVolume(value)
		if problem != "" {
			problems.Add(name, problem)
			continue
		}
		bytes, _ := parsed.(int64)
		volume = &bytes
	}
	if len(assignments) == 0 {
		problems.Add("uploadVolumeGb", "is required")
	}
	if err := problems.Err(); err != nil {
		return err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.SetUploadVolume(ctx, p, volume); err != nil {
			return err
		}
		if err := tx.NotifyDirectory(ctx); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Entry{
			Action: "person.limits", Object: p.String(), Target: p, Details: map[string]string{"limits": strings.Join(assignments, " ")},
		})
	})
	return describe("set person's limits", err)
}

// NewSubscription is a subscription to be stored, or new facts about the one of the same product.
type NewSubscription struct {
	Domain    string
	Product   string     // empty: the domain's name
	Name      string     // empty: the product
	Status    string     // empty: active
	ExpiresAt *time.Time // nil: not cancelled
}

// Subscribe stores what an organization has subscribed to. Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound.
func (s *Service) Subscribe(ctx context.Context, organization string, n NewSubscription) error {
	n.Product, n.Status = or(n.Product, n.Domain), or(n.Status, identity.StatusActive)
	n.Name = or(n.Name, n.Product)
	var problems fault.Problems
	if !slices.Contains(identity.Domains(), n.Domain) {
		problems.Add("domain", "must be one of "+strings.Join(identity.Domains(), ", "))
	}
	if !slices.Contains(identity.SubscriptionStatuses(), n.Status) {
		problems.Add("status", "must be one of "+strings.Join(identity.SubscriptionStatuses(), ", "))
	}
	for _, c := range []struct{ member, value string }{{"product", n.Product}, {"name", n.Name}} {
		if err := text.Line(c.value, text.MaxName); err != nil {
			problems.Add(c.member, err.Error())
		}
	}
	if err := problems.Err(); err != nil {
		return err
	}
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		o, err := tx.FindOrganization(ctx, organization)
		if err != nil {
			return err
		}
		if err := tx.PutSubscription(ctx, identity.Subscription{
			Organization: o, Domain: n.Domain, ProductID: n.Product, DisplayName: n.Name, Status: n.Status, ExpiresAt: n.ExpiresAt,
		}, s.now()); err != nil {
			return err
		}
		return s.recordOf(ctx, tx, token.Caller{}, o, "organization.subscribe", map[string]string{"domain": n.Domain, "status": n.Status})
	})
	return describe("subscribe", err)
}

// SetOrganization sets members of an organization, given as name=value: those of its profile, externalUid and mfaRequired.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound.
func (s *Service) SetOrganization(ctx context.Context, organization string, assignments []string) error {
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		uid, err := tx.FindOrganization(ctx, organization)
		if err != nil {
			return err
		}
		if err := tx.LockOrganizations(ctx, uid); err != nil {
			return err
		}
		o, err := tx.Organization(ctx, uid)
		if err != nil {
			return err
		}
		before := o.MFARequired
		if err := assign(&o, assignments); err != nil {
			return err
		}
		if err := tx.UpdateOrganizationProfile(ctx, uid, o.Profile, s.now()); err != nil {
			return err
		}
		if err := tx.SetExternalUID(ctx, uid, o.ExternalUID, s.now()); err != nil {
			return err
		}
		if err := tx.NotifyDirectory(ctx); err != nil {
			return err
		}
		names := make([]string, len(assignments))
		for i, a := range assignments {
			names[i], _, _ = strings.Cut(a, "=")
		}
		if err := s.recordOf(ctx, tx, token.Caller{}, uid, "organization.set", map[string]string{"members": strings.Join(names, " ")}); err != nil {
			return err
		}
		if before != o.MFARequired {
			if err := s.demandFactor(ctx, tx, uid, o.MFARequired); err != nil {
				return err
			}
		}
		return s.tellMembers(ctx, tx, uid, profileUpdated)
	})
	return describe("set organization", err)
}

// assign applies name=value to an organization. Errors: fault.ErrInvalid.
func assign(o *identity.OrganizationDetails, assignments []string) error {
	p := &o.Profile
	texts := map[string]*string{
		"name": &p.Name, "addressLine1": &p.AddressLine1, "addressLine2": &p.AddressLine2, "postCode": &p.PostCode, "city": &p.City,
		"state": &p.State, "country": &p.Country, "phoneNumber": &p.PhoneNumber, "globalSignature": &p.GlobalSignature,
		"legalNoticeUrl": &p.LegalNoticeURL, "privacyPolicyUrl": &p.PrivacyPolicyURL, "locale": &p.Locale, "timeZone": &p.TimeZone,
		"externalUid": &o.ExternalUID,
	}
	var problems fault.Problems
	for _, a := range assignments {
		name, value, assigned := strings.Cut(a, "=")
		if !assigned { // "city" alone would empty it
			problems.Add(name, "say name=value; "+name+"= empties it")
			continue
		}
		if name == "mfaRequired" {
			on, problem := parseSwitch(value)
			if problem != "" {
				problems.Add(name, problem)
			}
			o.MFARequired, _ = on.(bool)
			continue
		}
		target, ok := texts[name]
		if !ok {
			problems.Add(name, "cannot be set; there are mfaRequired, "+strings.Join(slices.Sorted(maps.Keys(texts)), ", "))
			continue
		}
		*target = value
	}
	if err := text.Line(o.ExternalUID, text.MaxName); err != nil {
		problems.Add("externalUid", err.Error())
	}
	if err := problems.Err(); err != nil {
		return err
	}
	return checkOrganization(p)
}

// demandFactor makes members of an organization need a second factor, or not any more: their access tokens end, and what
// takes their place knows (contract 3.2).
func (s *Service) demandFactor(ctx context.Context, tx *postgres.Store, o id.Organization, required bool) error {
	if err := tx.SetMFARequired(ctx, o, required, s.now()); err != nil {
		return err
	}
	raised, err := tx.RaiseEpochs(ctx, o)
	if err != nil {
		return err
	}
	ended := make([]token.Revocation, len(raised))
	for i, r := range raised {
		ended[i] = token.Revocation{Person: r.Person, Epoch: r.Epoch}
	}
	return s.revocations.Publish(ctx, tx.Querier(), ended...)
}
