-- Every change as a line, linked by its hash to the one before it of the same root: what `tape ledger verify` replays.
-- Triggers write the lines when a batch is committed, which has the row of each of its roots for itself.
create schema tape_ledger_chain;
set local search_path = tape_ledger_chain, tape_ledger;

create table line (
  root text collate "C" not null, n bigint not null, written text not null, hash text not null, primary key (root, n)
);

-- What is there already: the hashes link from here on.
create function link(of_root text, r jsonb) returns void language plpgsql set search_path = tape_ledger_chain, tape_ledger, pg_catalog, pg_temp as $$
declare last record; new_line text := (r || jsonb_build_object('root', of_root))::text;
begin
  select n, hash into last from line where root = of_root order by n desc limit 1;
  insert into line values (of_root, coalesce(last.n, 0) + 1, new_line,
    encode(sha256(convert_to(coalesce(last.hash, '') || new_line, 'UTF8')), 'hex'));
end $$;

create function of_hold() returns trigger language plpgsql set search_path = tape_ledger_chain, tape_ledger, pg_catalog, pg_temp as $$
declare r jsonb := jsonb_build_object('id', new.id); of_root text := split_part(new.scope, '/', 1);
  at timestamptz := (select latest from root where root = of_root);
begin
  if tg_op = 'INSERT' then
    r := r || jsonb_build_object('do', 'hold', 'at', new.begun, 'scope', new.scope, 'labels', new.labels, 'name', new.name,
      'worst', new.worst, 'expires', new.expires, 'free', new.free, 'part', (select part from hold where id = new.id));
  elsif new.state = 'held' then
    if new.worst = old.worst then return null; end if;
    r := r || jsonb_build_object('do', 'grow', 'at', at, 'worst', new.worst);
  elsif old.state = 'held' then
    r := r || jsonb_build_object('do', 'end', 'at', case when new.expired then new.expires else at end, 'state', new.state,
      'spent', new.spent, 'provisional', new.expired);
  elsif new.expired <> old.expired then
    r := r || jsonb_build_object('do', 'final', 'at', at, 'state', new.state, 'provisional', new.expired);
  elsif new.spent <> old.spent then
    r := r || jsonb_build_object('do', 'book', 'at', at, 'state', new.state, 'spent', new.spent);
  else
    return null;
  end if;
  perform link(of_root, r);
  return null;
end $$;

create function of_note() returns trigger language plpgsql set search_path = tape_ledger_chain, tape_ledger, pg_catalog, pg_temp as $$
begin
  if new.what->>'do' in ('cap', 'top_up', 'reset', 'rule', 'pause', 'resume') then
    perform link(split_part(split_part(new.what->>'account', '/', 1), '#', 1),
      new.what || jsonb_build_object('at', new.at, 'who', new.who, 'why', new.why));
  end if;
  return null;
end $$;

create constraint trigger tape_ledger_chain after insert or update on hold deferrable initially deferred
  for each row execute function of_hold();
create constraint trigger tape_ledger_chain after insert on note deferrable initially deferred
  for each row execute function of_note();
