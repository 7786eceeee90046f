CREATE TABLE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, "dateTime" TIMESTAMP(3),
  WATERMARK FOR "dateTime" AS "dateTime" - INTERVAL '4' SECOND
) WITH (
  connector = 'nats', stream = 'NEXMARK', subject = 'nexmark.bid', format = 'json', 'auto.create' = 'true'
);

SELECT window_start, COUNT(*) AS bids, COUNT(DISTINCT auction) AS auctions, COUNT(DISTINCT bidder) AS bidders,
       MAX(price) AS highest, SUM(price) AS total
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR("dateTime"), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;
