package identity

import "reflect"

// OrganizationChange is a change of an organization. nil leaves a member. The empty text unsets it.
type OrganizationChange struct {
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

// Texts returns the members that are texts, by their names.
func (c *OrganizationChange) Texts() map[string]**string {
	texts := map[string]**string{}
	for v, i := reflect.ValueOf(c).Elem(), 0; i < v.NumField(); i++ {
		if member, ok := v.Field(i).Addr().Interface().(**string); ok {
			texts[v.Type().Field(i).Tag.Get("json")] = member
		}
	}
	return texts
}

// Apply changes o, without a check, and returns the names of the members that c has.
func (c *OrganizationChange) Apply(o *OrganizationDetails) (members []string) {
	for v, i := reflect.ValueOf(c).Elem(), 0; i < v.NumField(); i++ {
		field := v.Type().Field(i)
		if v.Field(i).IsNil() {
			continue
		}
		to := reflect.ValueOf(&o.Profile).Elem().FieldByName(field.Name)
		if !to.IsValid() { // of the organization itself
			to = reflect.ValueOf(o).Elem().FieldByName(field.Name)
		}
		to.Set(v.Field(i).Elem())
		members = append(members, field.Tag.Get("json"))
	}
	return members
}
