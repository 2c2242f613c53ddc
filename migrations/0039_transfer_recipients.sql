-- +goose Up

-- When a recipient was last mailed the link on the sender's demand, and when the sender last had the recipient reminded.
alter table transfer.deliveries add column mailed_at timestamptz, add column reminded_at timestamptz;

-- The sender wants recipients who have downloaded nothing to be reminded remind_before days before the expiry: at remind_at, which is
-- null once it is done.
alter table transfer.transfers add column remind_before integer, add column remind_at timestamptz,
    add constraint transfers_remind_before_positive check (remind_before > 0);
create index transfers_reminding on transfer.transfers (remind_at) where remind_at is not null and ended_at is null;
