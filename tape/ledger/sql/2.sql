-- Version 2: rules of accounts, pauses, and the levels at which was warned.
set local search_path = tape_ledger;

create table rule (
  account text collate "C" primary key,
  at_limit text not null check (at_limit in ('refuse', 'wait', 'ask')), seconds int not null,
  warn int[] not null, webhook text not null, same int not null, tools int not null
);

-- Calls of the account wait for a person; "wanted" is the cap that was too low, and what the call asked of it.
create table pause (
  account text collate "C" primary key,
  stopped boolean not null, at timestamptz not null, who text not null, why text not null, wanted jsonb not null
);

alter table span add column warned int not null default 0, add column refused boolean not null default false;

update meta set version = 2;
