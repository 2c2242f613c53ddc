-- +goose Up

-- What organizations store and have uploaded, a row for each day (UTC) in which a server ran: as it was at the last hour of the day (contract 4.28).
CREATE TABLE transfer.volume_samples (
    organization uuid   NOT NULL,
    day          date   NOT NULL,
    stored       bigint NOT NULL, -- bytes
    held         bigint NOT NULL, -- bytes of the month's volume, up to then
    CONSTRAINT volume_samples_pkey PRIMARY KEY (organization, day),
    CONSTRAINT volume_samples_not_negative CHECK (stored >= 0 AND held >= 0)
);
CREATE INDEX volume_samples_by_day ON transfer.volume_samples (day);
