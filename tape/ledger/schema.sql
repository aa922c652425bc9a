-- Version 1. A hold is the truth; windows hold sums over holds. Every change comes through tape_ledger.apply, which has
-- the row of each root that it touches for itself, the roots in order, so calls of one root come one after the other.
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

-- The moment of a local time; of two, where clocks are set back, the earlier one.
create function moment_of(there timestamp, zone text) returns timestamptz language sql stable as $$
  select case when ((there at time zone zone) - interval '1 hour') at time zone zone = there
    then (there at time zone zone) - interval '1 hour' else there at time zone zone end
$$;

create function begun(c cap, at timestamptz) returns timestamptz language plpgsql stable as $$
declare size int; today timestamp; first timestamp;
begin
  if c.unit = 'total' then return '-infinity'; end if;
  if c.unit in ('hour', 'rolling') then
    size := case c.unit when 'hour' then 3600 else c.bucket end;
    return to_timestamp(floor(extract(epoch from at) / size) * size);
  end if;
  if c.unit in ('day', 'week') then
    return moment_of(date_trunc(c.unit, at at time zone c.zone), c.zone);
  end if;
  today := date_trunc('day', at at time zone c.zone);
  first := date_trunc('month', today);
  if extract(day from today) < least(c.day, extract(day from first + interval '1 month - 1 day')) then
    first := first - interval '1 month';
  end if;
  return moment_of(
    first + make_interval(days => least(c.day, extract(day from first + interval '1 month - 1 day')::int) - 1), c.zone);
end $$;

create function earliest(c cap, at timestamptz) returns timestamptz language sql stable as $$
  select case when c.unit = 'rolling' then begun(c, at) - make_interval(secs => c.bucket * 60) else begun(c, at) end
$$;

-- Of a rolling cap all that is held counts, also what began before: it may still be paid.
create function taken(c cap, at timestamptz) returns bigint language sql stable as $$
  select coalesce(sum(case when begun >= earliest(c, at) then spent else 0 end + held), 0)::bigint from span
    where cap = c.id and (begun between earliest(c, at) and begun(c, at) or c.unit = 'rolling' and held > 0)
$$;

create function amount_of(c cap, at timestamptz) returns bigint language sql stable as $$
  select coalesce((select amount from span where cap = c.id and begun = begun(c, at) and c.unit <> 'rolling'), c.amount)
$$;

-- Labels first, then the scope from its leaf to its root.
create function accounts(scope text, labels jsonb) returns text[] language plpgsql immutable as $$
declare parts text[] := string_to_array(scope, '/'); found text[]; depth int;
begin
  select coalesce(array_agg(parts[1] || '#' || key || '=' || value order by key collate "C"), '{}') into found
    from jsonb_each_text(labels);
  for depth in reverse cardinality(parts) .. 1 loop
    found := found || array_to_string(parts[1:depth], '/');
  end loop;
  return found;
end $$;

create function caps(accounts text[]) returns setof cap language sql stable rows 5 as $$
  select cap.* from unnest(accounts) with ordinality as a (account, place) join cap using (account)
    order by place, resource, period
$$;

create function refusal(c cap, wanted bigint, at timestamptz) returns jsonb language plpgsql stable as $$
declare amount bigint; used bigint;
begin
  if wanted = 0 then return null; end if;
  if c.unit = 'rolling' then
    amount := amount_of(c, at);
    used := taken(c, at);
  else
    select span.amount, span.spent + span.held into amount, used from span where cap = c.id and begun = begun(c, at);
    if not found then
      amount := c.amount;
      used := 0;
    end if;
  end if;
  if used + wanted <= amount then return null; end if;
  return jsonb_build_object('refused', jsonb_build_array(c.account, c.resource, c.period, amount, greatest(0, amount - used), used + wanted));
end $$;

create function reserve(r jsonb, at timestamptz) returns jsonb language plpgsql as $$
declare h hold; c cap; wanted bigint; refused jsonb; mine cap[]; ids bigint[] := '{}'; starts timestamptz[] := '{}'; start timestamptz;
begin
  select * into h from hold where id = r->>'id';
  if found then
    if h.scope <> r->>'scope' or h.labels <> r->'labels' then
      return jsonb_build_object('error', 'another', 'scope', h.scope);
    end if;
    return jsonb_build_object('held', h.state);
  end if;
  select coalesce(array_agg(one), '{}') into mine from caps(accounts(r->>'scope', r->'labels')) one;
  foreach c in array mine loop
    wanted := case when r->'worst' ? c.resource then (r->'worst'->>c.resource)::bigint else 0 end;
    refused := refusal(c, wanted, at);
    if refused is not null then return refused; end if;
  end loop;
  foreach c in array mine loop
    wanted := coalesce((r->'worst'->>c.resource)::bigint, 0);
    start := begun(c, at);
    ids := ids || c.id;
    starts := starts || start;
    update span set held = held + wanted
      where cap = c.id and begun = start and (wanted = 0 or c.unit = 'rolling' or spent + held + wanted <= amount);
    if not found then
      insert into span (cap, begun, amount, held, rolling) values (c.id, start, c.amount, wanted, c.unit = 'rolling')
        on conflict do nothing;
      if not found then raise exception 'the hold % no longer fits', r->>'id'; end if;
    end if;
  end loop;
  insert into hold (id, scope, labels, name, worst, begun, expires, free, caps, starts)
    values (r->>'id', r->>'scope', r->'labels', r->>'name', r->'worst', at, at + make_interval(secs => (r->>'seconds')::int),
      (r->>'free')::boolean, ids, starts);
  return jsonb_build_object('held', 'held');
end $$;

create function grow(r jsonb, at timestamptz, mine text[]) returns jsonb language plpgsql as $$
declare h hold; c cap; more bigint; refused jsonb; larger jsonb;
begin
  select * into h from hold where id = r->>'id' and split_part(scope, '/', 1) = any (mine) for update;
  if not found then return jsonb_build_object('error', 'none'); end if;
  if h.state <> 'held' then return jsonb_build_object('error', 'ended', 'state', h.state); end if;
  select jsonb_object_agg(key, case
      when (h.worst ? key and h.worst->>key is null) or (r->'worst' ? key and r->'worst'->>key is null) then 'null'
      else to_jsonb(greatest(coalesce((h.worst->>key)::bigint, 0), coalesce((r->'worst'->>key)::bigint, 0))) end)
    into larger from jsonb_object_keys(h.worst || (r->'worst')) as keys (key);
  if larger = h.worst then return jsonb_build_object('held', 'held'); end if;
  for c in select cap.* from caps(accounts(h.scope, h.labels)) cap where cap.id = any (h.caps) loop
    more := coalesce((larger->>c.resource)::bigint, 0) - coalesce((h.worst->>c.resource)::bigint, 0);
    refused := refusal(c, more, case when c.unit = 'rolling' then at else h.begun end);
    if refused is not null then return refused; end if;
  end loop;
  update span set held = held + coalesce((larger->>cap.resource)::bigint, 0) - coalesce((h.worst->>cap.resource)::bigint, 0)
    from unnest(h.caps, h.starts) as mine (cap, begun), cap
    where mine.cap = span.cap and mine.begun = span.begun and cap.id = span.cap;
  update hold set worst = larger where id = h.id;
  return jsonb_build_object('held', 'held');
end $$;

create function close_hold(h hold, to_state text, used jsonb) returns jsonb language plpgsql as $$
begin
  update span set
    held = held - coalesce((h.worst->>cap.resource)::bigint, 0),
    spent = span.spent + coalesce((used->>cap.resource)::bigint, 0),
    debt = debt + greatest(0, coalesce((used->>cap.resource)::bigint, 0) - coalesce((h.worst->>cap.resource)::bigint, 0))
    from unnest(h.caps, h.starts) as mine (cap, begun), cap
    where mine.cap = span.cap and mine.begun = span.begun and cap.id = span.cap;
  update hold set state = to_state, spent = used where id = h.id;
  return jsonb_build_object('ended', to_state, 'spent', used);
end $$;

create function ended(r jsonb, mine text[]) returns jsonb language plpgsql as $$
declare h hold; used jsonb;
begin
  -- One whose reserve was committed after the roots were taken is not there yet.
  select * into h from hold where id = r->>'id' and split_part(scope, '/', 1) = any (mine) for update;
  if not found then return jsonb_build_object('error', 'none'); end if;
  if h.state <> 'held' then return jsonb_build_object('ended', h.state, 'spent', h.spent); end if;
  select coalesce(jsonb_object_agg(key, coalesce(value::bigint, (h.worst->>key)::bigint, 0)), '{}') into used
    from jsonb_each_text(r->'amounts');
  return close_hold(h, r->>'state', used);
end $$;

create function sweep(of_root text, at timestamptz) returns void language plpgsql as $$
declare h hold; used jsonb;
begin
  for h in select * from hold where state = 'held' and expires <= at and split_part(scope, '/', 1) = of_root order by expires, id loop
    select coalesce(jsonb_object_agg(key, coalesce(value::bigint, 0)), '{}') into used from jsonb_each_text(h.worst);
    perform close_hold(h, case when h.free then 'voided' else 'booked' end, case when h.free then '{}' else used end);
  end loop;
end $$;

create function set_cap(r jsonb, at timestamptz) returns jsonb language plpgsql as $$
declare c cap; clash text; used bigint; start timestamptz;
begin
  select period into clash from cap where account = r->>'account' and resource = r->>'resource' and unit = r->>'unit'
    and unit <> 'rolling' and period <> r->>'period';
  if found then return jsonb_build_object('error', 'clash', 'period', clash); end if;
  insert into cap (account, resource, period, unit, zone, day, bucket, amount)
    values (r->>'account', r->>'resource', r->>'period', r->>'unit', r->>'zone', (r->>'day')::int, (r->>'bucket')::int, 0)
    on conflict do nothing;
  select * into c from cap where account = r->>'account' and resource = r->>'resource' and period = r->>'period';
  used := taken(c, at);
  if (r->>'amount')::bigint < used then return jsonb_build_object('error', 'below', 'taken', used); end if;
  start := begun(c, at);
  update cap set amount = (r->>'amount')::bigint where id = c.id;
  update span set amount = (r->>'amount')::bigint where cap = c.id and begun >= start;
  return '{}';
end $$;

create function change_span(r jsonb, at timestamptz) returns jsonb language plpgsql as $$
declare c cap;
begin
  select * into c from cap where account = r->>'account' and resource = r->>'resource' and period = r->>'period';
  if not found then return jsonb_build_object('error', 'no cap'); end if;
  if c.unit = 'rolling' then return jsonb_build_object('error', 'rolling'); end if;
  insert into span (cap, begun, amount, rolling) values (c.id, begun(c, at), c.amount, false) on conflict do nothing;
  if r->>'do' = 'top_up' then
    update span set amount = amount + (r->>'amount')::bigint where cap = c.id and begun = begun(c, at);
  else
    update span set forgiven = forgiven + spent, spent = 0 where cap = c.id and begun = begun(c, at);
  end if;
  return '{}';
end $$;

create function one(r jsonb, at timestamptz, mine text[]) returns jsonb language plpgsql as $$
declare answer jsonb;
begin
  if r ? 'change' and exists (select from note where change = r->>'change') then return '{}'; end if;
  case r->>'do'
    when 'reserve' then return reserve(r, at);
    when 'grow' then return grow(r, at, mine);
    when 'end' then return ended(r, mine);
    when 'sweep' then return '{}';
    when 'cap' then answer := set_cap(r, at);
    else answer := change_span(r, at);
  end case;
  if answer = '{}' then
    insert into note (at, who, why, what, change) values (at, r->>'who', r->>'why', r - 'who' - 'why' - 'change', r->>'change');
  end if;
  return answer;
end $$;

-- All requests of one batch, in order, unless the caller has seen a later batch than this server has. Answers: the number of the batch by root, then one for each request. What the
-- tables forbid undoes that request alone.
create function apply(requests jsonb, moment timestamptz, seen jsonb) returns jsonb language plpgsql set search_path = tape_ledger, pg_catalog as $$
declare mine text[]; answers jsonb := '[]'; numbers jsonb := '{}'; r jsonb; answer jsonb; at timestamptz; n bigint; last timestamptz; name text;
begin
  select coalesce(array_agg(distinct split.root collate "C" order by split.root collate "C"), '{}') into mine from (
    select split_part(coalesce(q->>'scope', q->>'account', hold.scope), '/', 1) as named
      from jsonb_array_elements(requests) q left join hold on hold.id = q->>'id' and q->>'scope' is null
  ) roots, lateral (select split_part(named, '#', 1) as root) split where split.root <> '';
  at := coalesce(moment, clock_timestamp());
  foreach name in array mine loop
    insert into root (root) values (name) on conflict do nothing;
    update root set batch = batch + 1 where root = name returning root.batch, root.latest into n, last;
    if n <= (seen->>name)::bigint then
      raise exception 'batch % of % after %', n, name, seen->>name using errcode = 'TL001';
    end if;
    at := greatest(at, last);
    numbers := numbers || jsonb_build_object(name, n);
  end loop;
  if moment is null then at := greatest(at, clock_timestamp()); end if;
  update root set latest = at where root = any (mine);
  foreach name in array mine loop
    perform sweep(name, at);
  end loop;
  for r in select * from jsonb_array_elements(requests) loop
    begin
      answer := one(r, at, mine);
    exception when check_violation or unique_violation or raise_exception or data_exception then
      answer := jsonb_build_object('error', 'forbidden', 'detail', sqlerrm);
    end;
    answers := answers || jsonb_build_array(answer);
  end loop;
  return jsonb_build_object('batches', numbers, 'answers', answers);
end $$;

create function balances(accounts text[], moment timestamptz) returns table (
  account text, resource text, period text, begun timestamptz, amount bigint, spent bigint, held bigint, debt bigint
) language sql stable set search_path = tape_ledger, pg_catalog as $$
  select c.account, c.resource, c.period, nullif(earliest(c, at), '-infinity'), amount_of(c, at),
    coalesce(sum(span.spent) filter (where span.begun >= earliest(c, at)), 0)::bigint, coalesce(sum(span.held), 0)::bigint,
    coalesce(sum(span.debt) filter (where span.begun >= earliest(c, at)), 0)::bigint
  from (select coalesce(moment, clock_timestamp()) as at) now
    cross join (select caps.*, row_number() over () as place from caps(accounts)
     union all select cap.*, row_number() over (order by cap.account, cap.resource, cap.period) from cap where accounts is null) listed
    join cap c on c.id = listed.id
    left join span on span.cap = c.id
      and (span.begun between earliest(c, at) and begun(c, at) or c.unit = 'rolling' and span.held > 0)
  group by c.id, c.account, c.resource, c.period, place, at, c.* order by place
$$;

-- Every sum anew from the holds; what does not agree.
create function wrong() returns table (account text, resource text, period text, begun timestamptz, detail text)
language sql stable set search_path = tape_ledger, pg_catalog as $$
  with sums as (
    select mine.cap, mine.begun,
      sum(case when h.state = 'held' then coalesce((h.worst->>cap.resource)::bigint, 0) else 0 end) as held,
      sum(case when h.state <> 'held' then coalesce((h.spent->>cap.resource)::bigint, 0) else 0 end) as spent,
      sum(case when h.state <> 'held' then greatest(0, coalesce((h.spent->>cap.resource)::bigint, 0) - coalesce((h.worst->>cap.resource)::bigint, 0)) else 0 end) as debt
    from hold h, unnest(h.caps, h.starts) as mine (cap, begun), cap where cap.id = mine.cap group by 1, 2
  )
  select cap.account, cap.resource, cap.period, nullif(span.begun, '-infinity'),
    format('held, spent and debt are (%s, %s, %s), the holds (%s, %s, %s)', span.held, span.spent + span.forgiven, span.debt,
      coalesce(sums.held, 0), coalesce(sums.spent, 0), coalesce(sums.debt, 0))
  from span join cap on cap.id = span.cap left join sums on sums.cap = span.cap and sums.begun = span.begun
  where (span.held, span.spent + span.forgiven, span.debt) is distinct from (coalesce(sums.held, 0), coalesce(sums.spent, 0), coalesce(sums.debt, 0))
$$;
