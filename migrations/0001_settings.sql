-- +goose Up

-- Facts about the installation that every replica shares and that no environment variable sets:
-- maintenance mode, the demo's marker, the last known public host.
CREATE TABLE settings (
    name       text        NOT NULL,
    value      jsonb       NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT settings_pkey PRIMARY KEY (name),
    CONSTRAINT settings_name_check CHECK (name <> '')
);
