-- +goose Up
-- Roles in the console (contract 9.1). A server of an older version beside takes each for an operator: give the other roles after the
-- upgrade.
ALTER TABLE identity.operators
    ADD COLUMN role text NOT NULL DEFAULT 'operator',
    ADD CONSTRAINT operators_role_known CHECK (role IN ('operator', 'auditor', 'helpdesk'));
