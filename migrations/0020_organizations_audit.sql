-- +goose Up

-- An organization's administrators read its entries, newest first (GET /organizations/{uid}/audit).
CREATE INDEX audit_organization_idx ON audit (organization, id) WHERE organization IS NOT NULL;
