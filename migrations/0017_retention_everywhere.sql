-- +goose Up

-- Servers of 1.0.0 that run beside this version know no rules of retention (contract 4.32). These triggers keep the rules for them.

-- A server of this version has called transfer.keep for all transfers that it ends, in one order, so the least is kept already.
-- +goose StatementBegin
CREATE FUNCTION transfer.keep_ended() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF EXISTS (SELECT FROM transfer.adminunits a WHERE a.organization = NEW.limits_organization
            AND transfer.rule(a.retention, 'transfers', 'least') IS NOT NULL)
        AND NOT EXISTS (SELECT FROM hold_scope s JOIN holds h ON h.uid = s.hold AND h.kind = 'retention'
            WHERE s.subject = NEW.uid AND s.kind = 'transfer') THEN
        PERFORM transfer.keep('transfers', ARRAY[NEW.uid], NEW.ended_at);
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER transfers_kept BEFORE UPDATE ON transfer.transfers
    FOR EACH ROW WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION transfer.keep_ended();

ALTER TABLE transfer.receipts ADD COLUMN erased_at timestamptz; -- when a server of this version erased it and had called transfer.keep

-- +goose StatementBegin
CREATE FUNCTION transfer.keep_receipt() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF NEW.kind = 'delivered' THEN
        PERFORM transfer.keep('receipts', ARRAY[NEW.transfer], now());
    ELSE
        NEW.body := OLD.body; -- the certificate of erasure stays
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER receipts_kept BEFORE UPDATE ON transfer.receipts
    FOR EACH ROW WHEN (OLD.body IS NOT NULL AND NEW.body IS NULL AND NEW.erased_at IS NULL AND NEW.kind IN ('delivered', 'erased'))
    EXECUTE FUNCTION transfer.keep_receipt();
