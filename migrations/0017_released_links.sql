-- +goose Up

-- A released vanity link keeps its row, so that nobody else can take it for a while. released_at is when it was released.
-- former_person or former_organization may have it back.
alter table transfer.vanity_links add column released_at timestamptz, add column former_person uuid, add column former_organization uuid,
    drop constraint vanity_links_one_target,
    add constraint vanity_links_one_target check (num_nonnulls(mailbox, mailbox_group, released_at) = 1),
    add constraint vanity_links_former check (released_at is not null or num_nonnulls(former_person, former_organization) = 0);
create index vanity_links_released on transfer.vanity_links (released_at) where released_at is not null;
