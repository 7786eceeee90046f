-- Nexmark bids, twenty thousand a second, ten seconds of event time in each second.
CREATE TABLE generated (
  auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, "dateTime" TIMESTAMP(3), extra VARCHAR
) WITH (
  connector = 'generator', kind = 'nexmark', 'nexmark.event' = 'bid', 'nexmark.event-rate' = '2000', rate = '20000'
);

CREATE TABLE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, "dateTime" TIMESTAMP(3), extra VARCHAR
) WITH (
  connector = 'nats', stream = 'NEXMARK', subject = 'nexmark.bid', format = 'json', 'auto.create' = 'true'
);

INSERT INTO bid SELECT * FROM generated;
