-- +goose Up

-- Origins of other sites whose pages may upload to mailboxes of the organization (contract 1.10), as https://host[:port].
ALTER TABLE identity.organizations
    ADD COLUMN upload_origins text[] NOT NULL DEFAULT '{}',
    ADD CONSTRAINT organizations_upload_origins_check CHECK (cardinality(upload_origins) <= 20);
