-- Version 3: holds of parts know their parts, and an expiry is provisional.
set local search_path = tape_ledger;

-- "owed": what of the debt of each span is of this hold, in the order of "caps"; null where that is what it took beyond
-- its worst case.
alter table hold add column part text collate "C" not null default '', add column expired boolean not null default false,
  add column owed bigint[];
create unique index hold_part on hold (part) where part <> '';
-- When the last reset was. Of earlier ones all is taken to be after what has expired.
alter table span add column reset timestamptz not null default '-infinity';
update span set reset = 'infinity' where forgiven > 0;

-- The first 16 characters of a hold's id name the part that it gives.
update hold set part = cap.account from (select distinct account from cap) cap
  where cap.account = hold.scope || '/part:' || left(hold.id, 16);
-- One that is free and voided has expired, or its call was not made.
update hold set expired = true where state = 'booked' or free and state = 'voided';

update meta set version = 3;
