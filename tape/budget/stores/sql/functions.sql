-- What may happen, for the latest version. Every change comes through tape_ledger.apply, which has the row of each root
-- that it touches for itself, the roots in order, so calls of one root come one after the other. All functions are made
-- anew with every version.
set local search_path = tape_ledger;

do $$ declare name regprocedure; begin
  for name in select oid::regprocedure from pg_proc where pronamespace = 'tape_ledger'::regnamespace loop
    execute 'drop function ' || name;
  end loop;
end $$;

-- The beginning of the day, week or month of a moment. The time zone is that of the session while this runs: as TimeZone a
-- name such as CET is one of a zone, whereas "at time zone" takes it for an abbreviation, which has no summer.
create function day_begun(c cap, at timestamptz) returns timestamptz language plpgsql stable set TimeZone = 'UTC' as $$
declare today timestamp; first timestamp;
begin
  perform set_config('TimeZone', c.zone, true);
  today := date_trunc(case c.unit when 'week' then 'week' else 'day' end, at::timestamp);
  if c.unit = 'month' then
    first := date_trunc('month', today);
    if extract(day from today) < least(c.day, extract(day from first + interval '1 month - 1 day')) then
      first := first - interval '1 month';
    end if;
    today := first + make_interval(days => least(c.day, extract(day from first + interval '1 month - 1 day')::int) - 1);
  end if;
  -- Of two moments, where clocks are set back, the earlier one.
  return today::timestamptz - case
    when (today::timestamptz - interval '1 hour')::timestamp = today then interval '1 hour' else interval '0' end;
end $$;

create function begun(c cap, at timestamptz) returns timestamptz language plpgsql stable as $$
declare size int;
begin
  if c.unit = 'total' then return '-infinity'; end if;
  if c.unit in ('hour', 'rolling') then
    size := case c.unit when 'hour' then 3600 else c.bucket end;
    return to_timestamp(floor(extract(epoch from at) / size) * size);
  end if;
  return day_begun(c, at);
end $$;

create function earliest(c cap, at timestamptz) returns timestamptz language sql stable as $$
  select case when c.unit = 'rolling' then begun(c, at) - make_interval(secs => c.bucket * 60) else begun(c, at) end
$$;

-- Of a rolling cap all that is held counts, also what began before: it may still be paid.
create function taken(c cap, at timestamptz) returns bigint language sql stable as $$
  select coalesce(sum(case when begun >= earliest(c, at) then spent else 0 end + held), 0)::bigint from span
    where cap = c.id and (begun between earliest(c, at) and begun(c, at) or c.unit = 'rolling' and held > 0)
$$;

-- Of a part that has ended nothing is left.
create function amount_of(c cap, at timestamptz) returns bigint language sql stable as $$
  select case when exists (select from hold where part = c.account and part <> '' and state <> 'held')
    then least(amount, taken(c, at)) else amount end
  from (select coalesce((select amount from span where cap = c.id and begun = begun(c, at) and c.unit <> 'rolling'), c.amount) as amount) as now
$$;

create function path_of(scope text) returns text[] language plpgsql immutable as $$
declare parts text[] := string_to_array(scope, '/'); found text[] := '{}'; depth int;
begin
  for depth in reverse cardinality(parts) .. 1 loop
    found := found || array_to_string(parts[1:depth], '/');
  end loop;
  return found;
end $$;

-- Labels first, those of the parts around it too, then the scope from its leaf to its root.
create function accounts(scope text, labels jsonb) returns text[] language plpgsql stable as $$
declare mine text[] := path_of(scope); found text[];
begin
  if position('/part:' in scope) = 0 then
    select coalesce(array_agg(split_part(scope, '/', 1) || '#' || key || '=' || value order by key collate "C"), '{}') into found
      from jsonb_each_text(labels);
  else
    select coalesce(array_agg(split_part(scope, '/', 1) || '#' || key || '=' || value order by key collate "C", value collate "C"), '{}') into found
      from (select key, value from jsonb_each_text(accounts.labels)
        union select key, value from hold, jsonb_each_text(hold.labels) where part = any (mine) and part <> '') as pairs;
  end if;
  return found || mine;
end $$;

create function is_part(account text) returns boolean language sql immutable as $$
  select position('#' in account) = 0 and position('/' in account) > 0 and starts_with(split_part(account, '/', -1), 'part:')
$$;

-- The innermost part that a scope is within and that has ended.
create function ended_part(scope text) returns text language plpgsql stable as $$
begin
  if position('/part:' in scope) = 0 then return null; end if;
  return (select part from hold where part = any (path_of(ended_part.scope)) and part <> '' and state <> 'held' order by length(part) desc limit 1);
end $$;

-- What a call has to fit into. What a part has a cap on is held as a whole in the accounts of its hold.
create function caps(scope text, labels jsonb) returns setof cap language plpgsql stable rows 5 as $$
declare mine text[] := accounts(scope, labels);
begin
  if position('/part:' in scope) = 0 then
    return query select cap.* from unnest(mine) with ordinality as a (account, place) join cap using (account)
      order by place, resource, period;
  else
    return query with above as materialized (
        select cap.resource, accounts(regexp_replace(cap.account, '/[^/]*$', ''), coalesce(hold.labels, '{}')) as accounts
          from cap left join hold on hold.part = cap.account and hold.part <> '' where cap.account = any (mine) and is_part(cap.account)
      ) select cap.* from unnest(mine) with ordinality as a (account, place) join cap using (account)
      where not exists (select from above where above.resource = cap.resource and cap.account = any (above.accounts))
      order by place, resource, period;
  end if;
end $$;

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

-- Hold all of them; false where one does not fit, is known, or is paused: then nothing is done, and each is asked alone.
create function hold_all(requests jsonb, at timestamptz) returns boolean language plpgsql as $$
declare fitted boolean;
begin
  with asked as materialized (
    select r->>'id' as id, r->>'scope' as scope, r->'labels' as labels, r->>'name' as name, r->'worst' as worst,
      at + make_interval(secs => (r->>'seconds')::int) as expires, (r->>'free')::boolean as free, coalesce(r->>'part', '') as part
    from jsonb_array_elements(requests) as one (r)
  ), payer as materialized (
    select scope, labels, accounts(scope, labels) as accounts from (select distinct scope, labels from asked) as one
  ), mine as materialized (
    select payer.scope, payer.labels, c.id as cap, c.resource, begun(c, at) as begun, row_number() over () as place
    from payer, lateral caps(payer.scope, payer.labels) as c
  ), list as materialized (
    select scope, labels, array_agg(cap order by place) as caps, array_agg(begun order by place) as starts from mine group by 1, 2
  ), wanted as materialized (
    select cap as id, begun, sum(coalesce((worst->>resource)::bigint, 0))::bigint as amount,
      bool_or(worst ? resource and worst->>resource is null) as unknown
    from mine join asked using (scope, labels) group by 1, 2
  ), fits as materialized (
    select (select count(*) = count(distinct id) and bool_and(part = '') from asked)
      and not exists (select from hold where id in (select id from asked))
      and not exists (select from pause join payer on account = any (accounts))
      and not exists (select from payer where position('/part:' in scope) > 0 and ended_part(scope) is not null)
      and not exists (select from wanted join cap using (id)
        where unknown or refusal(cap, wanted.amount, at) is not null) as ok
  ), spans as (
    -- A new row has to pass the checks also where there is one already, which may have been topped up.
    insert into span as s (cap, begun, amount, held, rolling)
      select cap.id, wanted.begun, greatest(cap.amount, wanted.amount), wanted.amount, cap.unit = 'rolling'
      from wanted join cap using (id) where (select ok from fits)
      on conflict (cap, begun) do update set held = s.held + excluded.held
        where s.rolling or excluded.held = 0 or s.spent + s.held + excluded.held <= s.amount
      returning 1
  ), holds as (
    insert into hold (id, scope, labels, name, worst, begun, expires, free, caps, starts)
      select id, scope, labels, name, worst, at, expires, free, coalesce(list.caps, '{}'), coalesce(list.starts, '{}')
      from asked left join list using (scope, labels) where (select ok from fits)
  )
  select ok and (select count(*) from spans) = (select count(*) from wanted) into fitted from fits;
  return fitted;
end $$;

create function reserve(r jsonb, at timestamptz) returns jsonb language plpgsql as $$
declare h hold; c cap; p pause; refused jsonb; mine text[] := accounts(r->>'scope', r->'labels'); ended text := ended_part(r->>'scope');
begin
  select * into h from hold where id = r->>'id';
  if found then
    if h.scope <> r->>'scope' or h.labels <> r->'labels' then
      return jsonb_build_object('error', 'another', 'scope', h.scope);
    end if;
    return jsonb_build_object('held', h.state);
  end if;
  if ended is not null then return jsonb_build_object('ended part', ended); end if;
  select pause.* into p from pause join unnest(mine) with ordinality as a (account, place) using (account)
    order by stopped desc, place limit 1;
  if found then
    return jsonb_build_object('paused', jsonb_build_array(p.account, p.stopped, p.who, p.why));
  end if;
  if exists (select from cap where account = r->>'part') then return jsonb_build_object('error', 'given'); end if;
  if hold_all(jsonb_build_array(r - 'part'), at) then
    if r->>'part' <> '' then
      update hold set part = r->>'part' where id = r->>'id';
      insert into cap (account, resource, period, unit, zone, day, bucket, amount)
        select r->>'part', key, 'total', 'total', 'UTC', 1, 0, value::bigint from jsonb_each_text(r->'worst');
    end if;
    return jsonb_build_object('held', 'held');
  end if;
  for c in select * from caps(r->>'scope', r->'labels') loop
    refused := refusal(c, case when r->'worst' ? c.resource then (r->'worst'->>c.resource)::bigint else 0 end, at);
    if refused is not null then return refused; end if;
  end loop;
  raise exception 'the hold % no longer fits', r->>'id';
end $$;

create function grow(r jsonb, at timestamptz, mine text[]) returns jsonb language plpgsql as $$
declare h hold; c cap; more bigint; refused jsonb; larger jsonb;
begin
  select * into h from hold where id = r->>'id' and split_part(scope, '/', 1) = any (mine) for update;
  if not found then return jsonb_build_object('error', 'none'); end if;
  if h.state <> 'held' then return jsonb_build_object('error', 'ended', 'state', h.state); end if;
  if ended_part(h.scope) is not null then return jsonb_build_object('error', 'ended part', 'part', ended_part(h.scope)); end if;
  select jsonb_object_agg(key, case
      when (h.worst ? key and h.worst->>key is null) or (r->'worst' ? key and r->'worst'->>key is null) then 'null'
      else to_jsonb(greatest(coalesce((h.worst->>key)::bigint, 0), coalesce((r->'worst'->>key)::bigint, 0))) end)
    into larger from jsonb_object_keys(h.worst || (r->'worst')) as keys (key);
  if larger = h.worst then return jsonb_build_object('held', 'held'); end if;
  for c in select * from cap where cap.id = any (h.caps) order by array_position(h.caps, cap.id) loop
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

-- End open holds; the answers in order, or null where one is not open or named twice: then nothing is done. So it is,
-- where not all is decided, for holds of parts, and for those within that took more than their worst case.
create function end_all(requests jsonb, mine text[], decided boolean default false) returns jsonb language plpgsql as $$
declare answers jsonb;
begin
  with asked as materialized (
    select r->>'id' as id, r->>'state' as to_state, r->'amounts' as amounts, r ? 'expired' as by_time, place
    from jsonb_array_elements(requests) with ordinality as one (r, place)
  ), open as materialized (
    select hold.id, hold.scope, hold.part, hold.worst, hold.caps, hold.starts, to_state, by_time, place, (
        select coalesce(jsonb_object_agg(key, coalesce(value::bigint, (hold.worst->>key)::bigint, 0)), '{}')
        from jsonb_each_text(amounts)
      ) as used
    from asked join hold using (id) where hold.state = 'held' and split_part(hold.scope, '/', 1) = any (mine)
  ), whole as materialized (
    select (select count(*) from asked) = (select count(distinct id) from open) and (decided or not exists (
      select from open where part <> '' or position('/part:' in scope) > 0 and exists (
        select from jsonb_each_text(used) where value::bigint > coalesce((worst->>key)::bigint, 0)))) as ok
  ), amounts as materialized (
    select part.cap, part.begun, coalesce((worst->>cap.resource)::bigint, 0) as worst, coalesce((used->>cap.resource)::bigint, 0) as used
    from open, unnest(open.caps, open.starts) as part (cap, begun), cap where cap.id = part.cap
  ), sums as materialized (
    select cap, begun, sum(worst) as held, sum(used) as spent, sum(greatest(0, used - worst)) as debt
    from amounts where (select ok from whole) group by 1, 2
  ), spans as (
    update span set held = span.held - sums.held, spent = span.spent + sums.spent, debt = span.debt + sums.debt
      from sums where span.cap = sums.cap and span.begun = sums.begun
  ), holds as (
    update hold set state = to_state, spent = used, expired = by_time from open where hold.id = open.id and (select ok from whole)
  )
  select case when ok then (
      select jsonb_agg(jsonb_build_object('ended', to_state, 'spent', used) order by place) from open
    ) end into answers from whole;
  return answers;
end $$;

-- Change what an ended hold has spent, in its own periods: where a cap has no room for more, that is debt.
create function book(h hold, used jsonb, at timestamptz) returns void language plpgsql as $$
declare o record; more bigint; owing bigint; was_forgiven bigint; all_owed bigint[] := '{}';
begin
  for o in select c, c.resource, span.*, coalesce(h.owed[place],
        greatest(0, coalesce((h.spent->>c.resource)::bigint, 0) - coalesce((h.worst->>c.resource)::bigint, 0))) as owed
      from unnest(h.caps, h.starts) with ordinality as mine (cap, begun, place) join span using (cap, begun) join cap c on c.id = mine.cap
      order by place loop
    more := coalesce((used->>o.resource)::bigint, 0) - coalesce((h.spent->>o.resource)::bigint, 0);
    if more > 0 then
      owing := greatest(0, more - greatest(0, case when o.rolling then (o.c).amount - taken(o.c, at) else o.amount - o.spent - o.held end));
    else
      owing := greatest(more, -o.owed);
    end if;
    was_forgiven := case when h.expires <= o.reset then least(o.forgiven, greatest(0, -more)) else 0 end;
    update span set debt = span.debt + owing, forgiven = forgiven - was_forgiven, spent = spent + more + was_forgiven
      where cap = o.cap and begun = o.begun;
    all_owed := all_owed || (o.owed + owing);
  end loop;
  -- What costs something after all was not voided.
  update hold set spent = used, owed = all_owed, state = case when h.state = 'voided' and h.part <> '' and used <> '{}' then 'settled' else state end where id = h.id;
end $$;

-- What a hold took beyond is booked for the part that it is within, where that has ended, and so on.
create function book_above(h hold, kind text, more bigint, at timestamptz) returns void language plpgsql as $$
declare above hold;
begin
  select hold.* into above from cap join hold on hold.part = cap.account and hold.part <> ''
    where cap.id = any (h.caps) and cap.resource = kind and hold.state <> 'held';
  if not found then return; end if;
  perform book(above, above.spent || jsonb_build_object(kind, coalesce((above.spent->>kind)::bigint, 0) + more), at);
  perform book_above(above, kind, more, at);
end $$;

-- End a hold, open or expired. A part has taken at least what is spent and held in it.
create function ended(r jsonb, mine text[], at timestamptz) returns jsonb language plpgsql as $$
declare h hold; used jsonb; becomes text := r->>'state'; o record; late jsonb := '{}';
begin
  -- One whose reserve was committed after the roots were taken is not there yet.
  select * into h from hold where id = r->>'id' and split_part(scope, '/', 1) = any (mine);
  if not found then return jsonb_build_object('error', 'none'); end if;
  if h.state <> 'held' and not h.expired then return jsonb_build_object('ended', h.state, 'spent', h.spent); end if;
  select coalesce(jsonb_object_agg(key, coalesce(value::bigint, (h.worst->>key)::bigint, 0)), '{}') into used from jsonb_each_text(r->'amounts');
  if h.part <> '' then
    select used || coalesce(jsonb_object_agg(resource, greatest((used->>resource)::bigint, taken(cap, at))), '{}') into used
      from cap where account = h.part;
  end if;
  if becomes = 'voided' then  -- of a part, calls were made all the same
    if exists (select from jsonb_each_text(used) where value <> '0') then becomes := 'settled'; else used := '{}'; end if;
  end if;
  if h.state = 'held' then
    perform end_all(jsonb_build_array(r || jsonb_build_object('state', becomes, 'amounts', used)), mine, true);
  else
    perform book(h, used, at);
    update hold set state = becomes, expired = false where id = h.id;
    select jsonb_build_object('late', jsonb_build_array(h.scope, h.spent, 0 < any (owed))) into late from hold where id = h.id;
  end if;
  for o in select key as kind, value::bigint - coalesce((case h.state when 'held' then h.worst else h.spent end->>key)::bigint, 0) as more
      from jsonb_each_text(used) loop
    if o.more > 0 then perform book_above(h, o.kind, o.more, at); end if;
  end loop;
  return jsonb_build_object('ended', becomes, 'spent', used) || late;
end $$;

-- End what has expired: at its worst case, unless an unanswered call costs nothing, or it is a part. Where there are parts, it
-- is one by one, since they take what those within have taken.
create function sweep(of_root text, at timestamptz) returns void language plpgsql as $$
declare due jsonb; o record;
begin
  select jsonb_agg(jsonb_build_object('id', id, 'expired', true, 'at', expires, 'state', case when free then 'voided' else 'booked' end, 'amounts', case
      when free or part <> '' then '{}' else (select coalesce(jsonb_object_agg(key, null), '{}') from jsonb_object_keys(worst) as one (key)) end)
      order by expires, id) into due
    from hold where state = 'held' and expires <= at and split_part(scope, '/', 1) = of_root;
  if due is null or end_all(due, array[of_root]) is not null then return; end if;
  for o in select value as r, (value->>'at')::timestamptz as at from jsonb_array_elements(due) loop
    perform ended(o.r, array[of_root], o.at);
  end loop;
end $$;

-- What parts have, or have taken at their ends, and the hold above them has not.
create function lacking() returns table (id text, part text, resource text, amount bigint)
language sql stable set search_path = tape_ledger, pg_catalog, pg_temp as $$
  select * from (
    select h.id, h.part, cap.resource, case when h.state = 'held' then cap.amount - coalesce((h.worst->>cap.resource)::bigint, 0)
      else coalesce(span.spent + span.held, 0) - coalesce((h.spent->>cap.resource)::bigint, 0) end as amount
    from hold h join cap on cap.account = h.part left join span on span.cap = cap.id where h.part <> '' order by h.number, cap.resource
  ) parts where amount > 0
$$;

-- The highest level at which a rule warns, of what is taken of a span.
create function level(warn int[], amount bigint, taken bigint) returns int language sql immutable as $$
  select coalesce(max(one), 0) from unnest(warn) as one where taken * 100::numeric >= one * amount::numeric
$$;

-- What goes above a level for the first time, and what has refused a call for the first time, is noted.
create function warn(mine text[], refused jsonb, at timestamptz) returns jsonb language plpgsql as $$
declare warned_of jsonb := '[]'; o record; reached int; hit boolean;
begin
  for o in select c.account, c.resource, c.period, span.cap, span.begun, span.amount, spent + held as taken, warned, span.refused, rule.warn, webhook
      from rule join cap c using (account) join span on span.cap = c.id
      where rule.warn <> '{}' and c.unit <> 'rolling' and span.begun = begun(c, at)
        and split_part(split_part(account, '/', 1), '#', 1) = any (mine) order by 1, 2, 3 loop
    reached := level(o.warn, o.amount, o.taken);
    hit := refused @> jsonb_build_array(jsonb_build_array(o.account, o.resource, o.period))
      and 100 = any (o.warn) and o.warned < 100 and not o.refused;
    continue when reached <= o.warned and not hit;
    if reached > o.warned then
      update span set warned = reached where cap = o.cap and begun = o.begun;
    else
      update span set refused = true where cap = o.cap and begun = o.begun;
      reached := 0;
    end if;
    if not (reached = 100 and o.refused) then
      warned_of := warned_of || jsonb_build_array(jsonb_build_array(
        o.account, o.resource, o.period, case when reached = 0 then 100 else reached end, o.taken, o.amount, o.webhook));
    end if;
    insert into note (at, who, why, what, change) values (at, 'ledger', case when reached = 0 then 'a call was refused' else reached || ' % are taken' end,
      jsonb_build_object('do', 'warn', 'account', o.account, 'resource', o.resource, 'period', o.period), gen_random_uuid());
  end loop;
  return warned_of;
end $$;

-- After a cap was raised, or its use forgiven, it may be warned again.
create function rearm(of_cap bigint) returns void language sql as $$
  update span set warned = least(warned, level(rule.warn, span.amount, span.spent + span.held)), refused = false
    from cap join rule using (account) where span.cap = of_cap and cap.id = of_cap and (warned > 0 or refused)
$$;

create function set_cap(r jsonb, at timestamptz) returns jsonb language plpgsql as $$
declare c cap; clash text; used bigint; start timestamptz;
begin
  select period into clash from cap where account = r->>'account' and resource = r->>'resource' and unit = r->>'unit'
    and unit <> 'rolling' and period <> r->>'period';
  if found then return jsonb_build_object('error', 'clash', 'period', clash); end if;
  if is_part(r->>'account') and not exists (select from cap where account = r->>'account' and resource = r->>'resource'
      and period = r->>'period' and amount >= (r->>'amount')::bigint) then
    return jsonb_build_object('error', 'part');
  end if;
  insert into cap (account, resource, period, unit, zone, day, bucket, amount)
    values (r->>'account', r->>'resource', r->>'period', r->>'unit', r->>'zone', (r->>'day')::int, (r->>'bucket')::int, 0)
    on conflict do nothing;
  select * into c from cap where account = r->>'account' and resource = r->>'resource' and period = r->>'period';
  used := taken(c, at);
  if (r->>'amount')::bigint < used then return jsonb_build_object('error', 'below', 'taken', used); end if;
  start := begun(c, at);
  update cap set amount = (r->>'amount')::bigint where id = c.id;
  update span set amount = (r->>'amount')::bigint where cap = c.id and begun >= start;
  perform rearm(c.id);
  return '{}';
end $$;

create function change_span(r jsonb, at timestamptz) returns jsonb language plpgsql as $$
declare c cap;
begin
  select * into c from cap where account = r->>'account' and resource = r->>'resource' and period = r->>'period';
  if not found then return jsonb_build_object('error', 'no cap'); end if;
  if c.unit = 'rolling' then return jsonb_build_object('error', 'rolling'); end if;
  if is_part(c.account) then return jsonb_build_object('error', 'part', 'account', c.account); end if;
  insert into span (cap, begun, amount, rolling) values (c.id, begun(c, at), c.amount, false) on conflict do nothing;
  if r->>'do' = 'top_up' then
    update span set amount = amount + (r->>'amount')::bigint where cap = c.id and begun = begun(c, at);
  else
    update span set forgiven = forgiven + spent, spent = 0, reset = at where cap = c.id and begun = begun(c, at);
  end if;
  perform rearm(c.id);
  return '{}';
end $$;

create function set_rule(r jsonb) returns jsonb language plpgsql as $$
begin
  delete from rule where account = r->>'account';
  insert into rule (account, at_limit, seconds, warn, webhook, same, tools)
    values (r->>'account', r->>'at_limit', (r->>'seconds')::int,
      array(select value::int from jsonb_array_elements_text(r->'warn') order by value::int), r->>'webhook', (r->>'same')::int, (r->>'tools')::int);
  return '{}';
end $$;

create function set_pause(r jsonb, at timestamptz) returns jsonb language plpgsql as $$
begin
  insert into pause as p (account, stopped, at, who, why, wanted)
    values (r->>'account', (r->>'stopped')::boolean, at, r->>'who', r->>'why', r->'wanted')
    on conflict (account) do update set stopped = true, at = excluded.at, who = excluded.who, why = excluded.why
      where excluded.stopped and not p.stopped;
  return case when found then '{}' else '{"error": "unchanged"}' end;
end $$;

-- Go on; once: with exactly as much more as the call that was refused lacks now.
create function resume(r jsonb, at timestamptz) returns jsonb language plpgsql as $$
declare p pause; c cap; missing bigint; more jsonb;
begin
  select * into p from pause where account = r->>'account';
  if not found then return jsonb_build_object('error', 'not paused'); end if;
  if (r->>'once')::boolean then
    if jsonb_array_length(p.wanted) = 0 then return jsonb_build_object('error', 'nothing wanted'); end if;
    select * into c from cap where account = p.wanted->>0 and resource = p.wanted->>1 and period = p.wanted->>2;
    if not found then return jsonb_build_object('error', 'no cap', 'wanted', p.wanted); end if;
    if c.unit = 'rolling' then return jsonb_build_object('error', 'rolling'); end if;
    if is_part(c.account) then return jsonb_build_object('error', 'part', 'account', c.account); end if;
    missing := taken(c, at) + (p.wanted->>3)::bigint - amount_of(c, at);
    if missing > 0 then
      more := jsonb_build_object('do', 'top_up', 'account', c.account, 'resource', c.resource, 'period', c.period, 'amount', missing);
      perform change_span(more, at);
      insert into note (at, who, why, what, change) values (at, r->>'who', r->>'why', more, gen_random_uuid());
    end if;
  end if;
  delete from pause where account = r->>'account';
  return '{}';
end $$;

-- Claim an effect for a worker, and hold what it may take. An effect whose worker's lease is over is taken where that may be
-- made again, and else unknown.
create function claim_effect(r jsonb, mine text[], at timestamptz) returns jsonb language plpgsql as $$
declare c claim; answer jsonb; of_scope text; lease timestamptz := at + make_interval(secs => (r->>'lease')::int);
begin
  select * into c from claim where key = r->>'effect';
  if found then
    select scope into of_scope from hold where id = c.hold;
    if of_scope <> r->>'scope' then return jsonb_build_object('error', 'another claim', 'scope', of_scope); end if;
    if (c.state = 'claimed' or (c.state = 'unknown' and (r->>'again')::boolean)) and c.worker <> r->>'worker' then
      if c.until > at then
        return jsonb_build_object('claim', jsonb_build_array('busy', c.attempt, '', extract(epoch from c.until - at)));
      end if;
      if not (r->>'again')::boolean then
        return finish_effect(jsonb_build_object('effect', c.key, 'attempt', c.attempt, 'becomes', 'unknown', 'amounts', '{}', 'outcome', ''), mine, at);
      end if;
      update claim set worker = r->>'worker', attempt = c.attempt + 1, until = lease, state = 'claimed', outcome = '',
        taken = true where key = c.key;
      return jsonb_build_object('claim', jsonb_build_array('taken', c.attempt + 1, '', 0));
    end if;
    if c.state <> 'failed' then
      return jsonb_build_object('claim', jsonb_build_array(
        case when c.state = 'claimed' and c.taken then 'taken' else c.state end, c.attempt, c.outcome, 0));
    end if;
  end if;
  if exists (select from hold where id = r->>'id') then return jsonb_build_object('error', 'no claim of the hold'); end if;
  answer := reserve(r, at);
  if not answer ? 'held' then return answer; end if;
  insert into claim as k (key, hold, worker, attempt, until) values (r->>'effect', r->>'id', r->>'worker', 1, lease)
    on conflict (key) do update set hold = excluded.hold, worker = excluded.worker, attempt = k.attempt + 1,
      until = excluded.until, state = 'claimed', outcome = '', taken = false
    returning * into c;
  return jsonb_build_object('claim', jsonb_build_array('claimed', c.attempt, '', 0));
end $$;

-- End a claim and its hold. What is done is done, whoever says so; that it was not made, only who has it now.
create function finish_effect(r jsonb, mine text[], at timestamptz) returns jsonb language plpgsql as $$
declare c claim; h hold; becomes text := r->>'becomes'; used jsonb;
begin
  select claim.* into c from claim join hold on hold.id = claim.hold
    where key = r->>'effect' and split_part(scope, '/', 1) = any (mine);
  if not found then return jsonb_build_object('error', 'no claim'); end if;
  if c.state = 'done' or (becomes <> 'done' and ((r->>'attempt')::int < c.attempt or c.state = 'failed'
      or (c.state = 'unknown' and becomes = 'unknown'))) then
    return jsonb_build_object('claim', jsonb_build_array(c.state, c.attempt, c.outcome, 0));
  end if;
  select * into h from hold where id = c.hold;
  if h.state = 'held' or h.expired then  -- else somebody has ended it by hand
    if becomes = 'unknown' then
      perform ended(jsonb_build_object('id', h.id, 'state', 'booked', 'amounts', case when h.part <> '' then '{}'
        else (select coalesce(jsonb_object_agg(key, null), '{}') from jsonb_object_keys(h.worst) as one (key)) end), mine, at);
    else
      used := r->'amounts';
      if c.state = 'failed' then  -- an earlier attempt was made after all, and what the last one took stays
        select coalesce(jsonb_object_agg(kind, coalesce((used->>kind)::bigint, case when used ? kind then (h.worst->>kind)::bigint end, 0)
            + coalesce((h.spent->>kind)::bigint, 0)), '{}') into used
          from (select jsonb_object_keys(used) as kind union select jsonb_object_keys(h.spent)) as kinds;
      end if;
      perform ended(jsonb_build_object('id', h.id, 'state', 'settled', 'amounts', used), mine, at);
    end if;
    update hold set expired = becomes <> 'done' where id = h.id;
  end if;
  update claim set state = becomes, outcome = r->>'outcome' where key = c.key;
  return jsonb_build_object('claim', jsonb_build_array(becomes, c.attempt, r->>'outcome', 0));
end $$;

-- What a person says of an effect that is unknown, or whose lease is over.
create function decide_effect(r jsonb, mine text[], at timestamptz) returns jsonb language plpgsql as $$
declare c claim; h hold;
begin
  select claim.* into c from claim join hold on hold.id = claim.hold
    where key = r->>'effect' and split_part(scope, '/', 1) = any (mine);
  if not found then return jsonb_build_object('error', 'no claim'); end if;
  if c.state <> 'unknown' and (c.state <> 'claimed' or c.until > at) then return jsonb_build_object('error', 'not unknown', 'state', c.state); end if;
  select * into h from hold where id = c.hold;
  if h.expired or h.state = 'held' then
    perform ended(jsonb_build_object('id', h.id, 'state', case when (r->>'done')::boolean then 'settled' else 'voided' end, 'amounts',
      case when (r->>'done')::boolean then (select coalesce(jsonb_object_agg(key, null), '{}') from jsonb_object_keys(h.worst) as one (key)) else '{}' end),
      mine, at);
    update hold set expired = not (r->>'done')::boolean where id = h.id;
  end if;
  update claim set state = case when (r->>'done')::boolean then 'done' else 'failed' end, outcome = r->>'outcome' where key = c.key;
  return '{}';
end $$;

create function one(r jsonb, at timestamptz, mine text[]) returns jsonb language plpgsql as $$
declare answer jsonb;
begin
  if r ? 'change' and exists (select from note where change = r->>'change') then return '{}'; end if;
  case r->>'do'
    when 'reserve' then return reserve(r, at);
    when 'grow' then return grow(r, at, mine);
    when 'end' then return ended(r, mine, at);
    when 'claim' then return claim_effect(r, mine, at);
    when 'finish' then return finish_effect(r, mine, at);
    when 'decide' then answer := decide_effect(r, mine, at);
    when 'sweep' then return '{}';
    when 'cap' then answer := set_cap(r, at);
    when 'rule' then answer := set_rule(r);
    when 'pause' then answer := set_pause(r, at);
    when 'resume' then answer := resume(r, at);
    else answer := change_span(r, at);
  end case;
  if answer = '{}' then
    insert into note (at, who, why, what, change) values (at, r->>'who', r->>'why', r - 'who' - 'why' - 'change' - 'outcome', r->>'change');
  end if;
  return answer;
end $$;

-- Requests of one kind: at once if that can be, else one after the other. What the tables forbid undoes that one alone.
create function alike(requests jsonb, at timestamptz, mine text[]) returns jsonb language plpgsql as $$
declare kind text := requests->0->>'do'; answers jsonb; answer jsonb; r jsonb;
begin
  begin
    if kind = 'reserve' and hold_all(requests, at) then
      return (select jsonb_agg('{"held": "held"}'::jsonb) from jsonb_array_elements(requests));
    elsif kind = 'end' then
      answers := end_all(requests, mine);
      if answers is not null then return answers; end if;
    end if;
  exception when check_violation or unique_violation or raise_exception or data_exception then
    answers := null;
  end;
  answers := '[]';
  for r in select * from jsonb_array_elements(requests) loop
    begin
      answer := one(r, at, mine);
    exception when check_violation or unique_violation or raise_exception or data_exception then
      answer := jsonb_build_object('error', 'forbidden', 'detail', sqlerrm);
    end;
    answers := answers || jsonb_build_array(answer);
  end loop;
  return answers;
end $$;

-- All requests of one batch, which come at once: their ends first, unless the caller has seen a later batch than this
-- server has. Sequential scans are off since plans are made while the tables are small.
create function apply(known int, requests jsonb, moment timestamptz, seen jsonb) returns jsonb language plpgsql
  set search_path = tape_ledger, pg_catalog, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare mine text[]; answers jsonb := '{}'; numbers jsonb := '{}'; at timestamptz; n bigint; last timestamptz; name text; part record; warnings jsonb := '[]';
begin
  if known <> (select version from meta) then
    raise exception 'this ledger has version %', (select version from meta) using errcode = 'TL002';
  end if;
  select coalesce(array_agg(distinct split.root collate "C" order by split.root collate "C"), '{}') into mine from (
    select split_part(coalesce(q->>'scope', q->>'account', hold.scope), '/', 1) as named
      from jsonb_array_elements(requests) q left join claim on claim.key = q->>'effect' and q->>'scope' is null
        left join hold on hold.id = coalesce(q->>'id', claim.hold) and q->>'scope' is null
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
  for part in select jsonb_agg(r order by place) as asked, jsonb_agg(place order by place) as places
      from (select r, place, r->>'do' as kind from jsonb_array_elements(requests) with ordinality as one (r, place)) as all_
      group by kind order by kind not in ('end', 'finish'), kind collate "C" loop
    answers := answers || (
      select jsonb_object_agg(place::text, answer) from (select alike(part.asked, at, mine) as given) as done,
        lateral (select * from rows from (jsonb_array_elements(part.places), jsonb_array_elements(given)) as one (place, answer)) as pair
    );
  end loop;
  if exists (select from rule where warn <> '{}') then
    warnings := warn(mine, (select coalesce(jsonb_agg(jsonb_build_array(value->'refused'->0, value->'refused'->1, value->'refused'->2)), '[]')
      from jsonb_each(answers) where value ? 'refused'), at);
  end if;
  return jsonb_build_object('batches', numbers, 'warnings', warnings,
    'answers', (select coalesce(jsonb_agg(value order by key::int), '[]') from jsonb_each(answers)));
end $$;

create function balances(of_scope text, labels jsonb, moment timestamptz) returns table (
  account text, resource text, period text, begun timestamptz, amount bigint, spent bigint, held bigint, debt bigint
) language sql stable set search_path = tape_ledger, pg_catalog, pg_temp as $$
  select c.account, c.resource, c.period, nullif(earliest(c, at), '-infinity'), amount_of(c, at),
    coalesce(sum(span.spent) filter (where span.begun >= earliest(c, at)), 0)::bigint, coalesce(sum(span.held), 0)::bigint,
    coalesce(sum(span.debt) filter (where span.begun >= earliest(c, at)), 0)::bigint
  from (select coalesce(moment, clock_timestamp()) as at) now
    cross join (select caps.*, row_number() over () as place from caps(of_scope, labels) where of_scope is not null
     union all select cap.*, row_number() over (order by cap.account, cap.resource, cap.period) from cap where of_scope is null) listed
    join cap c on c.id = listed.id
    left join span on span.cap = c.id
      and (span.begun between earliest(c, at) and begun(c, at) or c.unit = 'rolling' and span.held > 0)
  group by c.id, c.account, c.resource, c.period, place, at, c.* order by place
$$;

-- Every sum anew from the holds; what does not agree.
create function wrong() returns table (account text, resource text, period text, begun timestamptz, detail text)
language sql stable set search_path = tape_ledger, pg_catalog, pg_temp as $$
  with sums as (
    select mine.cap, mine.begun,
      sum(case when h.state = 'held' then coalesce((h.worst->>cap.resource)::bigint, 0) else 0 end) as held,
      sum(case when h.state <> 'held' then coalesce((h.spent->>cap.resource)::bigint, 0) else 0 end) as spent,
      sum(case when h.state <> 'held' then coalesce(h.owed[place],
        greatest(0, coalesce((h.spent->>cap.resource)::bigint, 0) - coalesce((h.worst->>cap.resource)::bigint, 0))) else 0 end) as debt
    from hold h, unnest(h.caps, h.starts) with ordinality as mine (cap, begun, place), cap where cap.id = mine.cap group by 1, 2
  )
  select cap.account, cap.resource, cap.period, nullif(span.begun, '-infinity'),
    format('held, spent and debt are (%s, %s, %s), the holds (%s, %s, %s)', span.held, span.spent + span.forgiven, span.debt,
      coalesce(sums.held, 0), coalesce(sums.spent, 0), coalesce(sums.debt, 0))
  from span join cap on cap.id = span.cap left join sums on sums.cap = span.cap and sums.begun = span.begun
  where (span.held, span.spent + span.forgiven, span.debt) is distinct from (coalesce(sums.held, 0), coalesce(sums.spent, 0), coalesce(sums.debt, 0))
$$;
