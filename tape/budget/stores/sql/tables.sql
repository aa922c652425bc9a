-- A hold is the truth; spans hold sums over holds.
create schema tape_ledger;
set local search_path = tape_ledger;

create table meta (version int not null, instance uuid not null default gen_random_uuid());
insert into meta (version) values (5);

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
  -- The highest level at which was warned, and whether a call was refused.
  warned int not null default 0, refused boolean not null default false,
  -- When the last reset was.
  reset timestamptz not null default '-infinity',
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
  caps bigint[] not null, starts timestamptz[] not null,
  -- The part that it gives; and an expiry, which is provisional.
  part text collate "C" not null default '', expired boolean not null default false,
  -- What of the debt of each span is of this hold, in the order of "caps"; null where that is what it took beyond its
  -- worst case.
  owed bigint[]
);
create index hold_open on hold (split_part(scope, '/', 1), expires) where state = 'held';
create index hold_number on hold (number);
create unique index hold_part on hold (part) where part <> '';

-- That an effect is made once. "hold" pays for its latest attempt.
create table claim (
  number bigint generated always as identity,
  key text collate "C" primary key, hold text collate "C" not null references hold,
  worker text collate "C" not null, attempt int not null, until timestamptz not null,
  state text not null default 'claimed' check (state in ('claimed', 'done', 'failed', 'unknown')),
  outcome text not null default '',
  -- Another worker may have made this attempt's call.
  taken boolean not null default false
);
create index claim_hold on claim (hold);

create table note (number bigint generated always as identity primary key, at timestamptz not null, who text not null, why text not null, what jsonb not null, change text not null unique);

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
