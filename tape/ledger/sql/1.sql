-- Version 1. A hold is the truth; spans hold sums over holds.
create schema tape_ledger;
set local search_path = tape_ledger;

create table meta (version int not null, instance uuid not null default gen_random_uuid());
insert into meta (version) values (1);

-- One more with every batch: a server that has a lower number than a client has seen has lost holds.
create table root (root text collate "C" primary key, batch bigint not null default 0, latest timestamptz not null default '-infinity');

create table cap (
  id bigint generated always as identity primary key,
  account text collate "C" not null, resource text collate "C" not null, period text collate "C" not null,
  unit text not null, zone text not null, day int not null, bucket int not null,
  amount bigint not null check (amount >= 0),
  unique (account, resource, period)
);

create table span (
  cap bigint not null references cap, begun timestamptz not null,
  amount bigint not null check (amount >= 0),
  spent bigint not null default 0 check (spent >= 0),
  held bigint not null default 0 check (held >= 0),
  debt bigint not null default 0 check (debt >= 0),
  forgiven bigint not null default 0,
  primary key (cap, begun),
  rolling boolean not null,
  -- The second net: above a cap only by what a settlement took beyond its worst case.
  check (rolling or spent + held <= amount + debt)
);

create table hold (
  number bigint generated always as identity,
  id text collate "C" primary key,
  scope text collate "C" not null, labels jsonb not null, name text not null,
  worst jsonb not null, spent jsonb not null default '{}',
  state text not null default 'held' check (state in ('held', 'settled', 'voided', 'booked')),
  begun timestamptz not null, expires timestamptz not null, free boolean not null,
  -- The spans that it counts in. A table of them would cost a third of a hold.
  caps bigint[] not null, starts timestamptz[] not null
);
create index hold_open on hold (split_part(scope, '/', 1), expires) where state = 'held';
create index hold_number on hold (number);

create table note (number bigint generated always as identity primary key, at timestamptz not null, who text not null, why text not null, what jsonb not null, change text not null unique);
