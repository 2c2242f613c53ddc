INSERT INTO transfer.receipts (transfer, kind, entry, body, created_at)
VALUES ('00000000-0000-7000-8000-000000003101', 'delivered', sha256('receipt'), 'receipt', '2026-11-23 04:00Z');
INSERT INTO transfer.receipt_parts (transfer, part, body) VALUES ('00000000-0000-7000-8000-000000003101', 1, 'part');
