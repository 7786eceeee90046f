-- Bids per auction and ten seconds: events from NATS JetStream, results in PostgreSQL.
--
--   streamsql run examples/bids.sql --nats nats://localhost:4222 --var POSTGRES_URL=postgres://…
--
-- The stream NEXMARK holds one JSON object a message; publish some with
--   streamsql run examples/publish.sql --nats nats://localhost:4222

CREATE TABLE bid (
  auction    BIGINT NOT NULL,
  bidder     BIGINT,
  price      BIGINT,
  channel    VARCHAR,
  url        VARCHAR,
  "dateTime" TIMESTAMP(3),
  extra      VARCHAR,
  WATERMARK FOR "dateTime" AS "dateTime" - INTERVAL '4' SECOND
) WITH (
  connector = 'nats',
  stream    = 'NEXMARK',
  subject   = 'nexmark.bid',
  format    = 'json'
);

CREATE TABLE auction_bids (
  auction      BIGINT,
  window_start TIMESTAMP(3),
  window_end   TIMESTAMP(3),
  bids         BIGINT,
  total        DECIMAL(38, 0),
  highest      BIGINT,
  PRIMARY KEY (auction, window_start)
) WITH (
  connector     = 'postgres',
  url           = '${POSTGRES_URL}',
  table         = 'auction_bids',
  'auto.create' = 'true'
);

INSERT INTO auction_bids
SELECT auction, window_start, window_end, COUNT(*), SUM(price), MAX(price)
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR("dateTime"), INTERVAL '10' SECOND))
WHERE price >= 100
GROUP BY auction, window_start, window_end;
