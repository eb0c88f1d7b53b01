\set base :base + 10
INSERT INTO plain.messages(shop, "offset", place, id, author, username, text, created_at, is_edited)
SELECT :client_id * 100 + (:base + n * 37) % 100, :base + n, :base + n, gen_random_uuid(), 'user0', 'user0',
  :text, extract(epoch FROM clock_timestamp()) * 1000000000, false
FROM generate_series(1, 10) n
