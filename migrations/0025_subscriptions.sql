-- +goose Up

-- A subscription may reference no product. It keeps its domain and status, because documents need an active subscription of a domain.
-- Earlier versions stored the domain as the product where the operator named none.
alter table identity.subscriptions drop constraint subscriptions_product_whole, drop constraint subscriptions_product_key;
update identity.subscriptions set product_id = null, display_name = null where product_id = domain;
alter table identity.subscriptions
    add constraint subscriptions_product_key unique nulls not distinct (organization, domain, product_id),
    add constraint subscriptions_product_whole check (num_nulls(product_id, display_name) in (0, 2)),
    add constraint subscriptions_status_whole check (num_nulls(domain, status) in (0, 2));
