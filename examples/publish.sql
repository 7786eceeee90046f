-- Publishes Nexmark bids to the stream NEXMARK, which examples/bids.sql reads.

CREATE TABLE generated (
  auction    BIGINT,
  bidder     BIGINT,
  price      BIGINT,
  channel    VARCHAR,
  url        VARCHAR,
  "dateTime" TIMESTAMP(3),
  extra      VARCHAR
) WITH (
  connector       = 'generator',
  kind            = 'nexmark',
  'nexmark.event' = 'bid',
  rows            = '500000',
  rate            = '50000'
);

CREATE TABLE bid (
  auction    BIGINT,
  bidder     BIGINT,
  price      BIGINT,
  channel    VARCHAR,
  url        VARCHAR,
  "dateTime" TIMESTAMP(3),
  extra      VARCHAR
) WITH (
  connector     = 'nats',
  stream        = 'NEXMARK',
  subject       = 'nexmark.bid',
  format        = 'json',
  'auto.create' = 'true'
);

INSERT INTO bid SELECT * FROM generated;
