-- 0036 left a row, which the migration has copied. A version that ends transfers like 0036 leaves another one.
INSERT INTO transfer.erasures (transfer, reservation) VALUES ('00000000-0000-7000-8000-000000005001', '00000000-0000-7000-8000-000000005002');
