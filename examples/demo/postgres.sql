CREATE TABLE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, "dateTime" TIMESTAMP(3),
  WATERMARK FOR "dateTime" AS "dateTime" - INTERVAL '4' SECOND
) WITH (
  connector = 'nats', stream = 'NEXMARK', subject = 'nexmark.bid', format = 'json', 'auto.create' = 'true'
);

CREATE TABLE auction_bids (
  auction BIGINT, window_start TIMESTAMP(3), window_end TIMESTAMP(3), bids BIGINT, total DECIMAL(38, 0), highest BIGINT,
  PRIMARY KEY (auction, window_start)
) WITH (
  connector = 'postgres', url = '${POSTGRES_URL}', table = 'auction_bids', 'auto.create' = 'true'
);

INSERT INTO auction_bids
SELECT auction, window_start, window_end, COUNT(*), SUM(price), MAX(price)
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR("dateTime"), INTERVAL '10' SECOND))
GROUP BY auction, window_start, window_end;
