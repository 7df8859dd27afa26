'use strict';

const { createHash } = require('node:crypto');

// The rules of locks in PostgreSQL: tables, and the functions that a session calls. They work on
// PostgreSQL 13 and later, without the rights of a superuser and without extensions.
//
// PostgreSQL's own functions stand here without their schema: each connection that calls these
// functions has the search path `pg_catalog, pg_temp`.
//
// Words. A *session* is one connection of a client. It has a number and holds the session-level
// advisory lock (1212368708, number). Names are unique in a *bucket*; the client makes a *key* of a
// name. A *request* has a number, unique in its session, and a ticket, its position in the queue of
// its name. Its state is w (waiting), h (held) or g (gone: lost by a steal or a hold limit; the row
// stays until its session leaves it, so that leave() can return the reason). Its priority is 0
// (background), 1 (user-visible) or 2 (user-blocking). The lock of a name is the transaction-level
// advisory lock (1212368709, hash of the bucket and the key).
//
// Invariants
//
//  1. Rows of a name are inserted, changed and deleted only under the lock of the name, which is
//     released after the commit has become visible. At READ COMMITTED each statement after the lock
//     sees all earlier changes of the name, so the calls for one name run one after the other.
//     Steal, hold limit and leave of one holder are ordered by it: leave() deletes a held row, or a
//     gone one with the reason.
//  2. A session lives while its advisory lock is held. The server releases that lock after the last
//     transaction of the connection, so a session inserts no row after its lock was free. The own
//     lock can be acquired again by its own connection; a call never asks for it (`own`).
//  3. open() takes a number only if its lock is free and no row of an earlier owner is left. A row
//     of a dead session never becomes one of a living session.
//  4. In a name, the ticket of each held row is smaller than the ticket of each waiting row. A
//     request is granted only if no waiting row has a smaller ticket; a stealer takes the ticket
//     before the first waiting one. No living row has a ticket below the floor of a row: searches
//     begin there, because they pass each row since the last vacuum. A ticket changes only to a
//     number above all before: a request that is moved draws its ticket, and then those behind
//     its new position draw theirs, in their order. So each floor, and each ticket that a session
//     remembers, stays a bound.
//  5. After each call, the holders of a name are one exclusive row, or shared rows. The first
//     waiting row is not grantable, unless a hold limit has passed or a session has died since.
//  6. The blocker of a name is its first holder. The watcher is the first waiting row of another
//     session than the blocker's. Its session is notified of the session of the blocker: by the
//     answer of enter(), or by `b` of the call that changed the blocker or the watcher, and has
//     found the watcher's session alive. It waits for the blocker's advisory lock, shared, and then
//     calls bury(). So it does not matter at which moment the blocker dies: also if it dies between
//     the check and the commit of its grant, or with a notification on its way. A session may watch
//     without need, or longer than needed: bury() checks. The other deaths of a name - of another
//     holder, of the watcher, of both, of the blocker if the session watches another one - are
//     found by the sweep of each session that waits for it.
//  7. Tokens rise with the grants of a name. A token is epoch * 2^32 + counter; the counter is read
//     under the lock of the name. The epoch is decided once in the life of the unlogged tables,
//     which a crash and a fail-over empty: above every earlier epoch, not below the seconds since
//     2025, under a lock, and on the disk before another session can read it. A counter that a
//     crash or a lagging standby sets back by less than 2^32 is outweighed by the next epoch.
//     Each start of the server begins an epoch, too.
//  8. No deadlocks: a call takes the locks of all its names first, in the order of their hashes;
//     then rows of requests; then rows of sessions. The locks of sessions are only tried, and rows
//     that another call has locked are skipped when old events or watchers are deleted.
//  9. A client counts its session as lost at the latest a TTL after its last answer. So no lock is
//     granted before the longest TTL of the sessions before this epoch has passed: a session that
//     open() returns a pause to passes epoch 0 for so long, and then calls expire() for the names
//     that it waits for. Its pause may end after the pause of others: a call with epoch 0 grants
//     nothing to itself, and serves the queue if the pause of the server has passed.
// 10. A request goes ahead of waiting rows, and stops at the first row which may_pass() excludes: a
//     new one from the end of the queue on, another, whose priority rises, from its position on.
//     Each older row of a lower priority that it passes counts this, and is passed by at most 16
//     younger requests. A request whose priority falls goes behind the rows that follow it, and
//     stops at the first row with neither a higher priority nor the same and a greater age. This
//     counts nowhere.
// 11. The `watched` of a holder is null, or the highest priority of the waiting rows of its name:
//     -1 if none waits. A call that changes this priority notifies the holders that watch. A row of
//     a session that has died counts until it is deleted: the sweep of a watching holder finds it.
//
// Notifications of a session, on the channel `holdfast_<channels>_<session>`, whose part <channels>
// is random, and read by roles with rights on the tables only. They arrive after the commit of
// the call that sent them; if the session made that call, they arrive before its answer:
//
//   g <number> <token>          the request holds the lock
//   l <number> stolen|expired   it has lost the lock
//   c <number> <priority> <id>  the highest priority that waits for its lock, which it watches;
//                               -1: none. The id makes each one unique: of equal notifications of
//                               a transaction the server sends one
//   b <number> <session> <ms>   it is the watcher: the blocker, and the time to the next hold
//                               limit, or nothing
//
// Events of a bucket, if a session watches it: on `holdfast_<channels>_w_<16 digits of the bucket's
// md5>`, as JSON. A key, whose escapes are escaped there, takes at most 3,600 bytes, an agent about
// 2,000: so an event is shorter than a notification may be.

/** Of the tables and of these invariants: all programs need the same one. */
const VERSION = 6;

const TABLES = `
CREATE SCHEMA IF NOT EXISTS holdfast;

-- The version of this schema, and the random part of the names of all channels: one row.
CREATE TABLE IF NOT EXISTS holdfast.version (version int NOT NULL, channels text NOT NULL);

-- The last epoch of tokens: one row. It is logged, and written with a flush.
CREATE TABLE IF NOT EXISTS holdfast.last_epoch (
  epoch bigint NOT NULL,
  grants_from timestamptz NOT NULL,
  pause_ms float8 NOT NULL, -- until grants_from, at most: the clock may be set back
  ttl_ms float8 NOT NULL -- the longest one of its sessions
);

-- The epoch in use: one row, or none after a crash or a fail-over.
CREATE UNLOGGED TABLE IF NOT EXISTS holdfast.epoch (
  epoch bigint NOT NULL,
  grants_from timestamptz NOT NULL,
  pause_ms float8 NOT NULL,
  server_start timestamptz NOT NULL
);

-- Tickets, and the low part of tokens. It begins at the microseconds since 2025: above the tickets
-- that sessions remember of tables that were removed.
CREATE SEQUENCE IF NOT EXISTS holdfast.counter;
SELECT setval('holdfast.counter', floor(
  extract(epoch FROM clock_timestamp() - timestamptz '2025-01-01 00:00:00+00') * 1000000
)::bigint) FROM holdfast.counter WHERE NOT is_called;

CREATE SEQUENCE IF NOT EXISTS holdfast.session_numbers AS int CYCLE;

CREATE UNLOGGED TABLE IF NOT EXISTS holdfast.sessions (
  session int PRIMARY KEY,
  bucket text COLLATE "C" NOT NULL,
  agent text NOT NULL, -- the client's own
  began timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE UNLOGGED TABLE IF NOT EXISTS holdfast.requests (
  bucket text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  ticket bigint NOT NULL,
  serial bigint, -- of a moved row: its ticket at first, smaller than a younger request's
  floor bigint NOT NULL, -- no row of the name with a smaller ticket lives
  session int NOT NULL,
  number bigint NOT NULL,
  mode "char" NOT NULL, -- x: exclusive, s: shared
  state "char" NOT NULL, -- w: waiting, h: held, g: gone
  priority smallint NOT NULL, -- the higher, the more urgent
  overtakes smallint NOT NULL DEFAULT 0, -- the younger requests that have gone ahead of it
  max_shared int NOT NULL, -- the most shared holders, this one included; 0: no limit
  hold_ms float8 NOT NULL, -- the hold limit; 0: none
  entered timestamptz NOT NULL DEFAULT clock_timestamp(),
  granted timestamptz,
  hold_until timestamptz,
  token bigint,
  why text, -- of a gone one: stolen, expired
  watched smallint, -- of a holder that watches: invariant 11
  details text NOT NULL, -- the client's own
  PRIMARY KEY (session, number)
) WITH (
  -- Room for a grant in the page of its row: then it changes no index.
  fillfactor = 80,
  -- A row lives as long as a lock is held, so most of the table is dead rows.
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0,
  -- To make the file shorter needs a lock that stops all calls.
  vacuum_truncate = off
);
CREATE INDEX IF NOT EXISTS requests_queue ON holdfast.requests (bucket, key, ticket);

CREATE UNLOGGED TABLE IF NOT EXISTS holdfast.watchers (
  bucket text COLLATE "C" NOT NULL,
  session int NOT NULL,
  PRIMARY KEY (bucket, session)
);

-- Not in use: it goes with the next version.
CREATE UNLOGGED TABLE IF NOT EXISTS holdfast.events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  made timestamptz NOT NULL DEFAULT clock_timestamp(),
  event text NOT NULL
);

INSERT INTO holdfast.version SELECT ${VERSION}, replace(gen_random_uuid()::text, '-', '')
WHERE NOT EXISTS (SELECT FROM holdfast.version);
`;

/** The functions; `functions` stands for their schema. */
const FUNCTION_TEXT = `
-- Whether a session lives; own is the session of the caller.
CREATE OR REPLACE FUNCTION functions.alive(session int, own int) RETURNS boolean
LANGUAGE sql VOLATILE AS $$
  SELECT session = own OR NOT pg_try_advisory_xact_lock_shared(1212368708, session)
$$;

-- The second number of the lock of a name.
CREATE OR REPLACE FUNCTION functions.name_lock(bucket text, key text) RETURNS int
LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtext(bucket || '/' || key)
$$;

-- The settings of a connection: calls need no flush, the indexes whatever the statistics say, and
-- all digits of a float.
CREATE OR REPLACE FUNCTION functions.configure() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config(name, setting, false)
  FROM (VALUES
    ('synchronous_commit', 'off'),
    ('enable_seqscan', 'off'),
    ('enable_bitmapscan', 'off'),
    ('plan_cache_mode', 'force_generic_plan'),
    ('jit', 'off'),
    ('extra_float_digits', '1')
  ) wanted (name, setting);
END $$;

-- A channel. Its name has a random part: each role of the database may send to any channel.
CREATE OR REPLACE FUNCTION functions.channel(of text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT 'holdfast_' || current_setting('holdfast.channels') || '_' || of
$$;

-- Reports a change of a request to the watchers of the bucket.
CREATE OR REPLACE FUNCTION functions.emit(
  in_bucket text, in_key text, own int, in_type text,
  in_session int, in_number bigint, in_mode "char", in_token bigint,
  in_priority smallint, in_overtakes smallint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (
    SELECT FROM holdfast.watchers w
    WHERE w.bucket = in_bucket AND functions.alive(w.session, own)
  ) THEN
    RETURN;
  END IF;
  PERFORM pg_notify(
    functions.channel('w_' || left(md5(in_bucket), 16)),
    json_build_object(
      'type', in_type, 'key', in_key, 'session', in_session, 'number', in_number,
      'mode', in_mode, 'token', in_token::text,
      'priority', in_priority, 'overtakes', in_overtakes,
      'time', extract(epoch FROM clock_timestamp()) * 1000,
      'agent', (SELECT s.agent FROM holdfast.sessions s WHERE s.session = in_session)
    )::text
  );
END $$;

-- Whether a request may go ahead of another waiting one, the other_ one (invariant 10).
CREATE OR REPLACE FUNCTION functions.may_pass(
  priority smallint, serial bigint,
  other_priority smallint, other_serial bigint, other_overtakes smallint
) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT priority > other_priority AND (serial < other_serial OR other_overtakes < 16)
    OR priority = other_priority AND serial < other_serial
$$;

-- Moves the waiting rows between two tickets behind the second one, which is the newest: the
-- ticket of a request that belongs before them. in_from: its ticket until now, or the same one; it
-- goes ahead of those with a smaller ticket.
CREATE OR REPLACE FUNCTION functions.pass(
  in_bucket text, in_key text, in_priority smallint, in_serial bigint,
  in_after bigint, in_ticket bigint, in_from bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WITH passed AS MATERIALIZED (
    SELECT o.session, o.number, nextval('holdfast.counter') AS ticket FROM (
      SELECT r.session, r.number FROM holdfast.requests r
      WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket > in_after
        AND r.ticket < in_ticket AND r.state = 'w'
      ORDER BY r.ticket
    ) o
  )
  UPDATE holdfast.requests r SET
    ticket = p.ticket,
    serial = coalesce(r.serial, r.ticket),
    overtakes = r.overtakes + CASE
      WHEN r.ticket < in_from AND r.priority < in_priority
        AND coalesce(r.serial, r.ticket) < in_serial THEN 1
      ELSE 0
    END
  FROM passed p WHERE r.session = p.session AND r.number = p.number;
END $$;

-- Milliseconds until the next hold limit of the holders, which are before the first waiting row;
-- null: none.
CREATE OR REPLACE FUNCTION functions.next_limit(in_bucket text, in_key text) RETURNS float8
LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT extract(epoch FROM min(r.hold_until) - clock_timestamp()) * 1000
    FROM holdfast.requests r
    WHERE r.bucket = in_bucket AND r.key = in_key AND r.state = 'h' AND r.ticket < coalesce((
      SELECT w.ticket FROM holdfast.requests w
      WHERE w.bucket = in_bucket AND w.key = in_key AND w.state = 'w' ORDER BY w.ticket LIMIT 1
    ), 9223372036854775807)
  );
END $$;

-- Takes a lock from its holder: the row of a dead session is deleted, else it is gone.
CREATE OR REPLACE FUNCTION functions.lose(
  in_bucket text, in_key text, own int, in_reason text,
  in_session int, in_number bigint, in_mode "char", in_token bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  request record;
BEGIN
  IF in_reason = 'died' THEN
    DELETE FROM holdfast.requests r WHERE r.session = in_session AND r.number = in_number
    RETURNING r.priority, r.overtakes INTO request;
  ELSE
    UPDATE holdfast.requests r SET state = 'g', why = in_reason
    WHERE r.session = in_session AND r.number = in_number
    RETURNING r.priority, r.overtakes INTO request;
    PERFORM pg_notify(
      functions.channel(in_session::text), concat_ws(' ', 'l', in_number, in_reason)
    );
  END IF;
  PERFORM functions.emit(
    in_bucket, in_key, own, in_reason, in_session, in_number, in_mode, in_token,
    request.priority, request.overtakes
  );
END $$;

-- Notifies the watcher, which is behind a ticket, of the blocker. The search passes all requests of
-- the blocker's session ahead; a hand-off from that session to itself does not search.
CREATE OR REPLACE FUNCTION functions.notify_watcher(
  in_bucket text, in_key text, own int, in_after bigint, in_blocker int, in_limit_ms float8
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify(
    functions.channel(w.session::text), concat_ws(' ', 'b', w.number, in_blocker, in_limit_ms)
  ) FROM (
    SELECT r.session, r.number FROM holdfast.requests r
    WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket > in_after AND r.state = 'w'
      AND r.session <> in_blocker AND functions.alive(r.session, own)
    ORDER BY r.ticket LIMIT 1
  ) w;
END $$;

-- Notifies the holders that watch, if the highest priority of the waiting rows has changed
-- (invariant 11). in_priority: of a row that has it, or waits, since the last call; -1: none.
CREATE OR REPLACE FUNCTION functions.report_waiting(
  in_bucket text, in_key text, in_floor bigint, in_priority smallint DEFAULT -1
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  known smallint;
  highest smallint;
  holder record;
BEGIN
  -- The holders come first.
  SELECT r.watched INTO known FROM holdfast.requests r
  WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= in_floor
    AND (r.state = 'w' OR r.state = 'h' AND r.watched IS NOT NULL)
  ORDER BY r.ticket LIMIT 1;
  IF known IS NULL THEN
    RETURN;
  END IF;
  -- No row has a higher priority than these two. Usually one of the first rows has it.
  SELECT r.priority INTO highest FROM holdfast.requests r
  WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= in_floor AND r.state = 'w'
    AND r.priority >= greatest(known, in_priority)
  ORDER BY r.ticket LIMIT 1;
  IF NOT FOUND THEN
    SELECT coalesce(max(r.priority), -1) INTO highest FROM holdfast.requests r
    WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= in_floor AND r.state = 'w';
  END IF;
  IF highest = known THEN
    RETURN;
  END IF;
  FOR holder IN
    UPDATE holdfast.requests r SET watched = highest
    WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= in_floor AND r.state = 'h'
      AND r.watched IS NOT NULL AND r.ticket < coalesce((
        SELECT w.ticket FROM holdfast.requests w
        WHERE w.bucket = in_bucket AND w.key = in_key AND w.ticket >= in_floor AND w.state = 'w'
        ORDER BY w.ticket LIMIT 1
      ), 9223372036854775807)
    RETURNING r.session, r.number
  LOOP
    PERFORM pg_notify(
      functions.channel(holder.session::text),
      concat_ws(' ', 'c', holder.number, highest, nextval('holdfast.counter'))
    );
  END LOOP;
END $$;

-- Standard: Web Locks, "process the lock request queue", for the waiting rows behind a ticket; none
-- is before it. Deletes the rows of dead sessions at the head, grants, and notifies the watcher
-- (invariant 6) and the holders that watch (invariant 11). in_holders is 0 if it is known that
-- there are none. in_known: the session that the watcher was notified of; null: not known. Epoch 0
-- grants if the pause has passed (invariant 9). Returns whether it granted or deleted a row.
CREATE OR REPLACE FUNCTION functions.serve(
  in_bucket text, in_key text, own int, in_epoch bigint,
  in_after bigint, in_holders int, in_known int
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  waiting record;
  exclusive int := in_holders;
  shared int := in_holders;
  blocker int;
  limit_ms float8; -- until the next hold limit
  known int := in_known;
  after_ticket bigint := in_after;
  token_epoch bigint := in_epoch;
  has_served boolean := false;
  new_token bigint;
  is_watched boolean;
  is_sent boolean;
  has_watch boolean := in_holders IS NULL; -- a holder may watch
BEGIN
  LOOP
    SELECT r.ticket, r.floor, r.session, r.number, r.mode, r.max_shared, r.hold_ms, r.priority,
      r.overtakes
    INTO waiting FROM holdfast.requests r
    WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket > after_ticket AND r.state = 'w'
    ORDER BY r.ticket LIMIT 1;
    IF NOT FOUND THEN
      IF has_watch THEN
        PERFORM functions.report_waiting(in_bucket, in_key, 0);
      END IF;
      RETURN has_served;
    END IF;

    IF NOT functions.alive(waiting.session, own) THEN
      PERFORM functions.lose(
        in_bucket, in_key, own, 'died', waiting.session, waiting.number, waiting.mode, NULL
      );
      has_served := true;
      known := NULL;
      after_ticket := waiting.ticket; -- the next search passes none of the deleted rows
      CONTINUE;
    END IF;

    IF exclusive IS NULL THEN
      SELECT count(*) FILTER (WHERE r.mode = 'x'), count(*) FILTER (WHERE r.mode = 's'),
        (array_agg(r.session ORDER BY r.ticket))[1],
        extract(epoch FROM min(r.hold_until) - clock_timestamp()) * 1000,
        count(r.watched) > 0
      INTO exclusive, shared, blocker, limit_ms, has_watch FROM holdfast.requests r
      WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= waiting.floor
        AND r.ticket < waiting.ticket AND r.state = 'h';
    END IF;
    -- lib/backends/grantable.js
    EXIT WHEN exclusive > 0;
    IF token_epoch = 0 THEN
      SELECT e.epoch INTO token_epoch FROM holdfast.epoch e
      WHERE e.server_start = pg_postmaster_start_time() AND e.grants_from <= clock_timestamp();
      EXIT WHEN NOT FOUND;
    END IF;
    IF waiting.mode = 'x' THEN
      EXIT WHEN shared > 0;
      exclusive := 1;
    ELSE
      EXIT WHEN waiting.max_shared > 0 AND shared >= waiting.max_shared;
      shared := shared + 1;
    END IF;

    new_token := (token_epoch << 32) + nextval('holdfast.counter');
    UPDATE holdfast.requests r
    SET state = 'h', token = new_token, granted = clock_timestamp(),
      hold_until = CASE WHEN r.hold_ms > 0
        THEN clock_timestamp() + least(r.hold_ms, 1e12) * interval '1 millisecond' END
    WHERE r.session = waiting.session AND r.number = waiting.number
    RETURNING EXISTS (SELECT FROM holdfast.watchers w WHERE w.bucket = in_bucket) INTO is_watched;
    is_sent := pg_notify(
      functions.channel(waiting.session::text), concat_ws(' ', 'g', waiting.number, new_token)
    ) IS NOT NULL;
    IF is_watched THEN
      PERFORM functions.emit(
        in_bucket, in_key, own, 'granted',
        waiting.session, waiting.number, waiting.mode, new_token,
        waiting.priority, waiting.overtakes
      );
    END IF;
    has_served := true;
    blocker := coalesce(blocker, waiting.session);
    IF waiting.hold_ms > 0 THEN
      limit_ms := least(limit_ms, waiting.hold_ms);
    END IF;
    IF waiting.session <> known THEN
      known := NULL; -- it may have been the watcher
    END IF;
    after_ticket := waiting.ticket;
    EXIT WHEN waiting.mode = 'x';
  END LOOP;

  IF blocker IS NOT NULL AND blocker IS DISTINCT FROM known THEN
    PERFORM functions.notify_watcher(in_bucket, in_key, own, after_ticket, blocker, limit_ms);
  END IF;
  IF has_watch THEN
    PERFORM functions.report_waiting(in_bucket, in_key, waiting.floor);
  END IF;
  RETURN has_served;
END $$;

-- Deletes the holders that have died, takes the lock from those whose hold limit has passed, and
-- serves the queue. Returns whether anything changed.
CREATE OR REPLACE FUNCTION functions.tidy(in_bucket text, in_key text, own int, in_epoch bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  first_waiting bigint;
  blocker int;
  holder record;
  changed boolean := false;
BEGIN
  SELECT r.ticket INTO first_waiting FROM holdfast.requests r
  WHERE r.bucket = in_bucket AND r.key = in_key AND r.state = 'w' ORDER BY r.ticket LIMIT 1;
  SELECT r.session INTO blocker FROM holdfast.requests r
  WHERE r.bucket = in_bucket AND r.key = in_key AND r.state = 'h'
    AND r.ticket < coalesce(first_waiting, 9223372036854775807)
  ORDER BY r.ticket LIMIT 1;
  FOR holder IN
    SELECT h.* FROM (
      SELECT r.session, r.number, r.mode, r.token,
        r.hold_until <= clock_timestamp() is_late, functions.alive(r.session, own) lives
      FROM holdfast.requests r
      WHERE r.bucket = in_bucket AND r.key = in_key AND r.state = 'h'
        AND r.ticket < coalesce(first_waiting, 9223372036854775807)
      ORDER BY r.ticket
    ) h
    WHERE h.is_late OR NOT h.lives
  LOOP
    PERFORM functions.lose(
      in_bucket, in_key, own, CASE WHEN holder.lives THEN 'expired' ELSE 'died' END,
      holder.session, holder.number, holder.mode, holder.token
    );
    changed := true;
  END LOOP;
  IF first_waiting IS NULL THEN
    RETURN changed;
  END IF;
  RETURN functions.serve(in_bucket, in_key, own, in_epoch, first_waiting - 1, NULL, blocker)
    OR changed;
END $$;

-- Takes the lock from all holders; returns the ticket before the first waiting row, or null.
CREATE OR REPLACE FUNCTION functions.steal(in_bucket text, in_key text, own int) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  first_waiting bigint;
  holder record;
BEGIN
  SELECT r.ticket INTO first_waiting FROM holdfast.requests r
  WHERE r.bucket = in_bucket AND r.key = in_key AND r.state = 'w' ORDER BY r.ticket LIMIT 1;
  FOR holder IN
    SELECT r.session, r.number, r.mode, r.token, r.hold_until <= clock_timestamp() is_late
    FROM holdfast.requests r
    WHERE r.bucket = in_bucket AND r.key = in_key AND r.state = 'h'
      AND r.ticket < coalesce(first_waiting, 9223372036854775807)
    ORDER BY r.ticket
  LOOP
    PERFORM functions.lose(
      in_bucket, in_key, own,
      CASE
        WHEN NOT functions.alive(holder.session, own) THEN 'died'
        WHEN holder.is_late THEN 'expired'
        ELSE 'stolen'
      END,
      holder.session, holder.number, holder.mode, holder.token
    );
  END LOOP;
  RETURN first_waiting - 1;
END $$;

-- Standard: Web Locks, "request a lock". in_steal: exclusive, not in epoch 0.
-- in_max_pending: the most living requests that may wait, itself included; 2147483647: any number;
-- 0: with ifAvailable.
-- in_floor: the first ticket of the session's last exclusive request that held the name, or 0. No
-- row of the name before it lives (invariant 4), and the search passes the dead ones: all since the
-- last vacuum, and more if a long transaction keeps them. Without the option in_priority the only
-- cost of priorities is that the one of the last waiting row is read. in_waits: the session knows
-- that requests of it wait for the name. If the request is granted, it is notified of those that
-- hold the lock, too: the notification of another session's call may come later. Returns
--   g <token> <ticket>         the request holds the lock
--   m                          it was not available
--   w <session> <ticket> <ms>  it waits. If it may be the watcher (invariant 6): its blocker, and
--                              the time to the next hold limit, or nothing. Else 0
CREATE OR REPLACE FUNCTION functions.enter(
  in_bucket text, in_key text, own int, in_epoch bigint, in_number bigint, in_mode "char",
  in_steal boolean, in_max_pending int, in_max_shared int, in_hold_ms float8, in_details text,
  in_floor bigint DEFAULT 0, in_priority smallint DEFAULT 1, in_waits boolean DEFAULT false
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  -- As an expression: cheaper than a statement.
  is_locked boolean := pg_advisory_xact_lock(
    1212368709, functions.name_lock(in_bucket, in_key)
  ) IS NOT NULL;
  ahead record;
  head record;
  floor_ticket bigint := in_floor;
  passes boolean := false; -- the waiting rows behind "ahead", if there are any
  blocker int := 0;
  limit_at timestamptz; -- of the holders
  has_died boolean; -- one of the holders
  has_watch boolean := false; -- a holder that watches may have to be notified of it
  stolen bigint;
  is_granted boolean := in_epoch <> 0;
  serial bigint;
  new_token bigint;
  is_watched boolean;
BEGIN
  IF in_steal THEN
    stolen := functions.steal(in_bucket, in_key, own);
  ELSE
    FOR attempt IN 1..2 LOOP
      SELECT r.ticket, r.floor, r.session, r.state, r.mode, r.hold_until, r.watched, r.priority
      INTO ahead FROM holdfast.requests r
      WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= in_floor AND r.state <> 'g'
      ORDER BY r.ticket DESC LIMIT 1;
      EXIT WHEN NOT FOUND;
      floor_ticket := ahead.floor;
      head := ahead;
      IF ahead.state = 'w' THEN
        passes := in_priority > ahead.priority;
        SELECT r.ticket, r.session, r.state, r.mode, r.hold_until, r.watched INTO head
        FROM holdfast.requests r
        WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= ahead.floor
          AND r.state <> 'g'
        ORDER BY r.ticket LIMIT 1;
      END IF;
      -- lib/backends/grantable.js. The holders are before the waiting rows.
      is_granted := in_epoch <> 0 AND (ahead.state = 'h' OR passes)
        AND head.state = 'h' AND head.mode = 's' AND in_mode = 's';
      -- Apart: an expression with a query costs 5 microseconds, also if the query is not reached.
      IF is_granted AND in_max_shared > 0 THEN
        is_granted := 'h' IS DISTINCT FROM (
          SELECT r.state FROM holdfast.requests r
          WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= ahead.floor
            AND r.state <> 'g'
          ORDER BY r.ticket OFFSET in_max_shared - 1 LIMIT 1
        );
      END IF;
      IF is_granted AND passes THEN
        is_granted := NOT EXISTS (
          SELECT FROM holdfast.requests r
          WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= ahead.floor
            AND r.state = 'w' AND NOT functions.may_pass(
              in_priority, 9223372036854775807, -- it is the youngest
              r.priority, coalesce(r.serial, r.ticket), r.overtakes
            )
        );
      END IF;
      EXIT WHEN is_granted;
      IF ahead.state = 'h' AND ahead.mode = 's' THEN
        SELECT min(r.hold_until), bool_or(NOT functions.alive(r.session, own)),
          (array_agg(r.session ORDER BY r.ticket))[1], count(r.watched) > 0
        INTO limit_at, has_died, blocker, has_watch FROM holdfast.requests r
        WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= ahead.floor
          AND r.state = 'h';
      ELSE
        IF head.state = 'h' THEN
          floor_ticket := head.ticket; -- a stealer goes behind it
        END IF;
        limit_at := head.hold_until;
        -- Behind a row with its priority the holders were notified before.
        has_watch := (ahead.state = 'h' OR passes)
          AND coalesce(head.watched < in_priority, head.mode = 's');
        has_died := head.state = 'w' OR NOT functions.alive(head.session, own);
        -- Between a row of another session and the holder is the watcher.
        blocker := CASE WHEN ahead.session = head.session THEN head.session ELSE 0 END;
      END IF;
      -- A request is not refused for others that have died at the head of the queue, either.
      EXIT WHEN attempt = 2 OR NOT (
        has_died OR (limit_at <= clock_timestamp()) IS TRUE OR in_max_pending = 0
      );
      EXIT WHEN NOT functions.tidy(in_bucket, in_key, own, in_epoch);
      is_granted := in_epoch <> 0;
      passes := false;
    END LOOP;
  END IF;
  IF NOT is_granted AND in_max_pending < 2147483647 THEN
    -- alive() costs most: it is called if there are enough rows.
    IF in_max_pending = 0 OR EXISTS (
      SELECT FROM holdfast.requests r
      WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= floor_ticket
        AND r.state = 'w'
      OFFSET in_max_pending - 1
    ) AND EXISTS (
      SELECT FROM holdfast.requests r
      WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= floor_ticket
        AND r.state = 'w' AND functions.alive(r.session, own)
      OFFSET in_max_pending - 1
    ) THEN
      RETURN 'm';
    END IF;
  END IF;
  IF passes THEN
    -- If it passes all and none holds the lock, no row is ahead.
    SELECT r.ticket, r.session, r.state INTO ahead FROM holdfast.requests r
    WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= floor_ticket
      AND (r.state = 'h' OR r.state = 'w' AND NOT functions.may_pass(
        in_priority, 9223372036854775807, r.priority, coalesce(r.serial, r.ticket), r.overtakes
      ))
    ORDER BY r.ticket DESC LIMIT 1;
    IF NOT is_granted AND ahead.state = 'h' THEN
      blocker := head.session;
      SELECT min(r.hold_until) INTO limit_at FROM holdfast.requests r
      WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= floor_ticket
        AND r.ticket <= ahead.ticket AND r.state = 'h';
    ELSE
      blocker := CASE WHEN ahead.session = head.session THEN head.session ELSE 0 END;
    END IF;
  END IF;

  serial := nextval('holdfast.counter');
  IF is_granted THEN
    new_token := (in_epoch << 32) + serial;
    IF in_waits THEN
      PERFORM pg_notify(functions.channel(own::text), concat_ws(' ', 'g', h.number, h.token))
      FROM (
        SELECT r.number, r.token FROM holdfast.requests r
        WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= floor_ticket
          AND r.session = own AND r.state = 'h'
        ORDER BY r.ticket
      ) h;
    END IF;
  END IF;
  INSERT INTO holdfast.requests (
    bucket, key, ticket, floor, session, number, mode, state, priority, max_shared,
    hold_ms, granted, hold_until, token, details
  ) VALUES (
    in_bucket, in_key, coalesce(stolen, serial),
    CASE WHEN is_granted AND in_mode = 'x' THEN coalesce(stolen, serial) ELSE floor_ticket END,
    own, in_number, in_mode,
    CASE WHEN is_granted THEN 'h' ELSE 'w' END, in_priority, in_max_shared, in_hold_ms,
    CASE WHEN is_granted THEN clock_timestamp() END,
    CASE WHEN is_granted AND in_hold_ms > 0
      THEN clock_timestamp() + least(in_hold_ms, 1e12) * interval '1 millisecond' END,
    new_token, in_details
  ) RETURNING EXISTS (SELECT FROM holdfast.watchers w WHERE w.bucket = in_bucket) INTO is_watched;
  IF is_watched THEN
    PERFORM functions.emit(
      in_bucket, in_key, own, CASE WHEN is_granted THEN 'granted' ELSE 'queued' END,
      own, in_number, in_mode, new_token, in_priority, 0::smallint
    );
  END IF;
  IF passes THEN
    PERFORM functions.pass(
      in_bucket, in_key, in_priority, serial,
      coalesce(ahead.ticket, floor_ticket - 1), serial, serial
    );
  END IF;
  IF stolen IS NOT NULL THEN
    PERFORM functions.serve(in_bucket, in_key, own, in_epoch, stolen, NULL, NULL);
  END IF;
  IF is_granted THEN
    RETURN concat_ws(' ', 'g', new_token, serial);
  END IF;
  IF has_watch THEN
    PERFORM functions.report_waiting(in_bucket, in_key, floor_ticket, in_priority);
  END IF;
  RETURN CASE WHEN blocker IN (0, own) THEN 'w 0 ' || serial ELSE concat_ws(
    ' ', 'w', blocker, serial, extract(epoch FROM limit_at - clock_timestamp()) * 1000
  ) END;
END $$;

-- Notifies the session of a holder from now on when the highest priority of the waiting rows
-- changes. Returns this priority, or null: none waits.
CREATE OR REPLACE FUNCTION functions.watch_contention(
  in_bucket text, in_key text, own int, in_number bigint
) RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE
  highest smallint;
BEGIN
  PERFORM pg_advisory_xact_lock(1212368709, functions.name_lock(in_bucket, in_key));
  UPDATE holdfast.requests o SET watched = coalesce((
    SELECT max(r.priority) FROM holdfast.requests r
    WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket > o.ticket AND r.state = 'w'
  ), -1)
  WHERE o.session = own AND o.number = in_number AND o.state = 'h'
  RETURNING nullif(o.watched, -1) INTO highest;
  RETURN highest;
END $$;

-- Serves the queue after the row of a shared holder or of a waiting request was deleted, or the
-- waiting rows from its ticket on have changed their order: then in_priority is null, and the
-- caller notifies the holders that watch.
CREATE OR REPLACE FUNCTION functions.settle(
  in_bucket text, in_key text, own int, in_epoch bigint,
  in_ticket bigint, in_floor bigint, in_state "char", in_priority smallint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  head record;
  ahead record;
BEGIN
  SELECT r.session, r.state, r.ticket INTO head FROM holdfast.requests r
  WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= in_floor AND r.state <> 'g'
  ORDER BY r.ticket LIMIT 1;
  IF in_state = 'h' THEN
    -- The last row shows whether there is a queue.
    IF 'w' = (
      SELECT r.state FROM holdfast.requests r
      WHERE r.bucket = in_bucket AND r.key = in_key AND r.state <> 'g'
      ORDER BY r.ticket DESC LIMIT 1
    ) THEN
      PERFORM functions.serve(
        in_bucket, in_key, own, in_epoch, in_ticket, NULL,
        CASE WHEN head.ticket < in_ticket THEN head.session ELSE own END
      );
    END IF;
    RETURN;
  END IF;

  SELECT r.session, r.state, r.priority INTO ahead FROM holdfast.requests r
  WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket < in_ticket AND r.state <> 'g'
  ORDER BY r.ticket DESC LIMIT 1;
  IF ahead.state IS DISTINCT FROM 'w' THEN
    PERFORM functions.serve(
      in_bucket, in_key, own, in_epoch, in_ticket, NULL,
      CASE WHEN ahead.state = 'h' AND head.session = own THEN own END
    );
  ELSE
    IF ahead.session = head.session AND head.session <> own THEN
      -- It may have been the watcher.
      PERFORM functions.notify_watcher(
        in_bucket, in_key, own, in_ticket, head.session, functions.next_limit(in_bucket, in_key)
      );
    END IF;
    IF in_priority > ahead.priority THEN
      PERFORM functions.report_waiting(in_bucket, in_key, in_floor);
    END IF;
  END IF;
END $$;

-- Standard: Web Locks, "release the lock" and "abort the request". in_why: 'timedout', or ''.
-- Returns null, or the reason if the lock was lost before. Has no effect the second time.
CREATE OR REPLACE FUNCTION functions.leave(
  in_bucket text, in_key text, own int, in_epoch bigint, in_number bigint, in_why text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  -- As an expression: cheaper than a statement.
  is_locked boolean := pg_advisory_xact_lock(
    1212368709, functions.name_lock(in_bucket, in_key)
  ) IS NOT NULL;
  request record;
  reason text;
  has_served boolean;
BEGIN
  DELETE FROM holdfast.requests r WHERE r.session = own AND r.number = in_number
  RETURNING r.ticket, r.floor, r.state, r.mode, r.token, r.why, r.priority, r.overtakes,
    r.state = 'h' AND r.hold_until <= clock_timestamp() AS is_late,
    EXISTS (SELECT FROM holdfast.watchers w WHERE w.bucket = in_bucket) AS is_watched,
    EXISTS (
      SELECT FROM holdfast.requests n
      WHERE n.bucket = in_bucket AND n.key = in_key AND n.ticket > r.ticket AND n.state <> 'g'
    ) AS has_followers
  INTO request;
  IF NOT FOUND OR request.state = 'g' THEN
    RETURN request.why;
  END IF;
  IF request.is_late THEN
    reason := 'expired';
  END IF;
  IF request.is_watched THEN
    PERFORM functions.emit(
      in_bucket, in_key, own,
      CASE
        WHEN request.state = 'h' THEN coalesce(reason, 'released')
        WHEN in_why = 'timedout' THEN 'timedout'
        ELSE 'aborted'
      END,
      own, in_number, request.mode, request.token, request.priority, request.overtakes
    );
  END IF;
  IF request.has_followers AND request.state = 'h' AND request.mode = 'x' THEN
    has_served := functions.serve(in_bucket, in_key, own, in_epoch, request.ticket, 0, own);
  ELSIF request.has_followers THEN
    PERFORM functions.settle(
      in_bucket, in_key, own, in_epoch, request.ticket, request.floor, request.state,
      request.priority
    );
  ELSIF request.state = 'w' THEN
    PERFORM functions.report_waiting(in_bucket, in_key, request.floor);
  END IF;
  RETURN reason;
END $$;

-- Changes the priority of a request. If it waits, it may move (invariant 10).
CREATE OR REPLACE FUNCTION functions.change_priority(
  in_bucket text, in_key text, own int, in_epoch bigint, in_number bigint, in_priority smallint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  request record;
  new_ticket bigint;
  after_ticket bigint; -- it belongs between this one and the next
BEGIN
  PERFORM pg_advisory_xact_lock(1212368709, functions.name_lock(in_bucket, in_key));
  SELECT r.ticket, coalesce(r.serial, r.ticket) AS serial, r.floor, r.state, r.priority
  INTO request FROM holdfast.requests r WHERE r.session = own AND r.number = in_number;
  IF NOT FOUND OR request.priority = in_priority THEN
    RETURN;
  END IF;
  UPDATE holdfast.requests r SET priority = in_priority
  WHERE r.session = own AND r.number = in_number;
  IF request.state <> 'w' THEN
    RETURN;
  END IF;

  new_ticket := nextval('holdfast.counter');
  IF in_priority > request.priority THEN
    after_ticket := coalesce((
      SELECT r.ticket FROM holdfast.requests r
      WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket >= request.floor
        AND r.ticket < request.ticket
        AND (r.state = 'h' OR r.state = 'w' AND NOT functions.may_pass(
          in_priority, request.serial, r.priority, coalesce(r.serial, r.ticket), r.overtakes
        ))
      ORDER BY r.ticket DESC LIMIT 1
    ), request.floor - 1);
  ELSE
    after_ticket := coalesce((
      SELECT r.ticket - 1 FROM holdfast.requests r
      WHERE r.bucket = in_bucket AND r.key = in_key AND r.ticket > request.ticket
        AND r.state = 'w' AND NOT (
          r.priority > in_priority
          OR r.priority = in_priority AND coalesce(r.serial, r.ticket) < request.serial
        )
      ORDER BY r.ticket LIMIT 1
    ), new_ticket);
  END IF;
  IF NOT EXISTS (
    SELECT FROM holdfast.requests r
    WHERE r.bucket = in_bucket AND r.key = in_key AND r.state = 'w'
      AND r.ticket > least(after_ticket, request.ticket)
      AND r.ticket <= greatest(after_ticket, request.ticket) AND r.ticket <> request.ticket
  ) THEN
    PERFORM functions.report_waiting(in_bucket, in_key, request.floor, in_priority);
    RETURN;
  END IF;
  UPDATE holdfast.requests r SET ticket = new_ticket, serial = request.serial
  WHERE r.session = own AND r.number = in_number;
  PERFORM functions.pass(
    in_bucket, in_key, in_priority, request.serial, after_ticket, new_ticket, request.ticket
  );
  PERFORM functions.settle(
    in_bucket, in_key, own, in_epoch,
    least(after_ticket + 1, request.ticket), request.floor, request.state, NULL
  );
  PERFORM functions.report_waiting(in_bucket, in_key, request.floor, in_priority);
END $$;

-- Takes the locks of names, in the order of their hashes.
CREATE OR REPLACE FUNCTION functions.lock_names(in_bucket text, in_keys text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  hash int;
BEGIN
  FOR hash IN
    SELECT DISTINCT functions.name_lock(in_bucket, k) FROM unnest(in_keys) k ORDER BY 1
  LOOP
    PERFORM pg_advisory_xact_lock(1212368709, hash);
  END LOOP;
END $$;

-- Removes the rows of sessions, the newest first: at most 50 names a call, and 2,000 rows if they
-- have died. A session that lives would be granted the rows of a name that are left. Serves the
-- queues of those names from which a row was deleted. Returns whether rows are left.
CREATE OR REPLACE FUNCTION functions.remove(
  in_bucket text, in_sessions int[], own int, in_epoch bigint, in_died boolean
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  request record;
  last_session int;
  last_number bigint;
  keys text[] := '{}';
  changed text[] := '{}';
  changed_key text;
BEGIN
  FOR request IN
    SELECT r.session, r.number, r.key FROM (
      SELECT u.session FROM unnest(in_sessions) u (session) ORDER BY 1 DESC
    ) s CROSS JOIN LATERAL (
      SELECT o.* FROM holdfast.requests o WHERE o.session = s.session ORDER BY o.number DESC
    ) r LIMIT CASE WHEN in_died THEN 2000 END
  LOOP
    IF request.key <> ALL (keys) THEN
      EXIT WHEN cardinality(keys) = 50;
      keys := keys || request.key;
    END IF;
    last_session := request.session;
    last_number := request.number;
  END LOOP;
  PERFORM functions.lock_names(in_bucket, keys);
  -- All are deleted before a queue is served: none of them is granted when another one leaves.
  FOR request IN
    WITH deleted AS (
      DELETE FROM holdfast.requests r
      WHERE r.session = ANY (in_sessions) AND r.key = ANY (keys)
        AND (r.session, r.number) >= (last_session, CASE WHEN in_died THEN last_number ELSE 0 END)
      RETURNING r.key, r.ticket, r.session, r.number, r.mode, r.state, r.token, r.priority,
        r.overtakes
    )
    SELECT * FROM deleted d WHERE d.state <> 'g' ORDER BY d.key, d.ticket
  LOOP
    PERFORM functions.emit(
      in_bucket, request.key, own,
      CASE WHEN in_died THEN 'died' WHEN request.state = 'h' THEN 'released' ELSE 'aborted' END,
      request.session, request.number, request.mode, request.token, request.priority,
      request.overtakes
    );
    IF request.key IS DISTINCT FROM changed[cardinality(changed)] THEN
      changed := changed || request.key;
    END IF;
  END LOOP;
  FOREACH changed_key IN ARRAY changed LOOP
    IF EXISTS (
      SELECT FROM (
        SELECT r.session FROM holdfast.requests r
        WHERE r.bucket = in_bucket AND r.key = changed_key AND r.state = 'w'
        ORDER BY r.ticket LIMIT 1
      ) f WHERE f.session = ANY (in_sessions)
    ) THEN
      -- The call that deletes that row serves the queue; serve() would delete all rows behind it.
      PERFORM functions.report_waiting(in_bucket, changed_key, 0);
    ELSE
      PERFORM functions.serve(in_bucket, changed_key, own, in_epoch, 0, NULL, NULL);
    END IF;
  END LOOP;

  IF EXISTS (SELECT FROM holdfast.requests r WHERE r.session = ANY (in_sessions)) THEN
    RETURN true;
  END IF;
  DELETE FROM holdfast.watchers w WHERE (w.bucket, w.session) IN (
    SELECT o.bucket, o.session FROM holdfast.watchers o
    WHERE o.session = ANY (in_sessions) FOR UPDATE SKIP LOCKED
  );
  DELETE FROM holdfast.sessions s WHERE s.session IN (
    SELECT o.session FROM holdfast.sessions o
    WHERE o.session = ANY (in_sessions) FOR UPDATE SKIP LOCKED
  );
  RETURN false;
END $$;

-- Removes requests of a session that has died, the next ones in the next call. Returns whether rows
-- are left, or null: the session lives.
CREATE OR REPLACE FUNCTION functions.bury(
  in_bucket text, in_session int, own int, in_epoch bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF functions.alive(in_session, own) THEN
    RETURN NULL;
  END IF;
  RETURN functions.remove(in_bucket, ARRAY[in_session], own, in_epoch, true);
END $$;

-- The milliseconds that are left of a pause. A clock that was set back does not make it longer.
CREATE OR REPLACE FUNCTION functions.pause_left(grants_from timestamptz, pause_ms float8)
RETURNS float8 LANGUAGE sql VOLATILE AS $$
  SELECT greatest(0, least(pause_ms, extract(epoch FROM grants_from - clock_timestamp()) * 1000))
$$;

-- Begins a session on this connection, which has none. It uses epoch 0 until pause_ms have passed.
CREATE OR REPLACE FUNCTION functions.open(
  in_bucket text, in_agent text, in_ttl_ms float8,
  OUT session int, OUT epoch bigint, OUT pause_ms float8, OUT channels text
) LANGUAGE plpgsql AS $$
DECLARE
  grants_from timestamptz;
BEGIN
  PERFORM functions.configure();
  SELECT set_config('holdfast.channels', v.channels, false) INTO channels FROM holdfast.version v;
  LOOP
    session := nextval('holdfast.session_numbers');
    IF pg_try_advisory_lock(1212368708, session) THEN
      EXIT WHEN NOT EXISTS (SELECT FROM holdfast.sessions s WHERE s.session = open.session)
        AND NOT EXISTS (SELECT FROM holdfast.requests r WHERE r.session = open.session)
        AND NOT EXISTS (SELECT FROM holdfast.watchers w WHERE w.session = open.session);
      PERFORM pg_advisory_unlock(1212368708, session);
    END IF;
  END LOOP;

  SELECT e.epoch, functions.pause_left(e.grants_from, e.pause_ms) INTO epoch, pause_ms
  FROM holdfast.epoch e WHERE e.server_start = pg_postmaster_start_time();
  IF NOT FOUND THEN
    PERFORM pg_advisory_xact_lock(1212368710, 0);
    SELECT e.epoch, functions.pause_left(e.grants_from, e.pause_ms) INTO epoch, pause_ms
    FROM holdfast.epoch e WHERE e.server_start = pg_postmaster_start_time();
    IF NOT FOUND THEN
      PERFORM set_config('synchronous_commit', 'on', true);
      SELECT
        greatest(
          max(l.epoch) + 1,
          floor(extract(epoch FROM clock_timestamp() - timestamptz '2025-01-01 00:00:00+00'))
        ),
        greatest(max(functions.pause_left(l.grants_from, l.pause_ms)), max(l.ttl_ms), 0)
      INTO epoch, pause_ms FROM holdfast.last_epoch l;
      grants_from := clock_timestamp() + pause_ms * interval '1 millisecond';
      DELETE FROM holdfast.last_epoch;
      INSERT INTO holdfast.last_epoch VALUES (open.epoch, grants_from, open.pause_ms, in_ttl_ms);
      DELETE FROM holdfast.epoch;
      INSERT INTO holdfast.epoch
      VALUES (open.epoch, grants_from, open.pause_ms, pg_postmaster_start_time());
    END IF;
  END IF;
  IF EXISTS (SELECT FROM holdfast.last_epoch l WHERE l.ttl_ms < in_ttl_ms) THEN
    PERFORM set_config('synchronous_commit', 'on', true);
    UPDATE holdfast.last_epoch l SET ttl_ms = greatest(l.ttl_ms, in_ttl_ms);
  END IF;

  INSERT INTO holdfast.sessions (session, bucket, agent)
  VALUES (open.session, in_bucket, in_agent);
END $$;

-- Removes dead sessions of the bucket, or else of one other bucket, which may stay closed for ever:
-- as many names and rows as remove(), the next ones in the next call. Not a part of open(), whose
-- commit may have to wait for a standby, under the locks of the names.
CREATE OR REPLACE FUNCTION functions.bury_all(in_bucket text, own int, in_epoch bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  of_bucket text;
BEGIN
  SELECT s.bucket INTO of_bucket FROM holdfast.sessions s
  WHERE s.bucket = in_bucket AND NOT functions.alive(s.session, own) LIMIT 1;
  IF NOT FOUND THEN
    SELECT s.bucket INTO of_bucket FROM holdfast.sessions s
    WHERE s.bucket <> in_bucket AND NOT functions.alive(s.session, own) LIMIT 1;
  END IF;
  IF FOUND THEN
    PERFORM functions.remove(
      of_bucket,
      ARRAY(
        SELECT s.session FROM holdfast.sessions s
        WHERE s.bucket = of_bucket AND NOT functions.alive(s.session, own) LIMIT 50
      ),
      own, in_epoch, true
    );
  END IF;
END $$;

-- Ends the own session, at most 50 names a call. Returns whether rows are left; if not, the session
-- is over.
CREATE OR REPLACE FUNCTION functions.close(in_bucket text, own int, in_epoch bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  has_rows boolean := functions.remove(in_bucket, ARRAY[own], own, in_epoch, false);
BEGIN
  IF NOT has_rows THEN
    PERFORM pg_advisory_unlock(1212368708, own);
  END IF;
  RETURN has_rows;
END $$;

-- Enforces the hold limits of a name and deletes its holders that have died. Returns the
-- milliseconds until the next hold limit; null: none.
CREATE OR REPLACE FUNCTION functions.expire(in_bucket text, in_key text, own int, in_epoch bigint)
RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1212368709, functions.name_lock(in_bucket, in_key));
  PERFORM functions.tidy(in_bucket, in_key, own, in_epoch);
  RETURN functions.next_limit(in_bucket, in_key);
END $$;

-- The sweep of a session that waits, or watches a lock. Of the names that it waits for: the
-- sessions of holders and of the row directly ahead that have died, for bury(); and, without a
-- session, for expire(): the names of which a hold limit has passed, or that have no holder. So the
-- row behind a watcher that has died finds it. Of each lock that it watches: the session of the
-- first row with the priority that it was notified of, if that has died. in_first: the smallest
-- number of those requests; the search passes the requests since then that have ended.
CREATE OR REPLACE FUNCTION functions.overdue(in_bucket text, own int, in_first bigint DEFAULT 0)
RETURNS TABLE (key text, session int) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT DISTINCT d.key, CASE WHEN NOT d.lives THEN d.session END FROM (
    SELECT w.key, r.session, r.hold_until, functions.alive(r.session, own) AS lives
    FROM (
      SELECT o.key, min(o.ticket) AS ticket, min(o.floor) AS floor FROM holdfast.requests o
      WHERE o.session = own AND o.number >= in_first AND o.state = 'w' GROUP BY o.key
    ) w CROSS JOIN LATERAL (
      (
        SELECT a.session, a.hold_until FROM holdfast.requests a
        WHERE a.bucket = in_bucket AND a.key = w.key AND a.state <> 'g' AND a.ticket < w.ticket
        ORDER BY a.ticket DESC LIMIT 1
      ) UNION ALL
      SELECT h.session, h.hold_until FROM holdfast.requests h
      WHERE h.bucket = in_bucket AND h.key = w.key AND h.state = 'h' AND h.ticket >= w.floor
        AND h.ticket < (
          SELECT f.ticket FROM holdfast.requests f
          WHERE f.bucket = in_bucket AND f.key = w.key AND f.state = 'w' AND f.ticket >= w.floor
          ORDER BY f.ticket LIMIT 1
        )
      UNION ALL
      SELECT NULL, '-infinity' WHERE NOT EXISTS (
        SELECT FROM holdfast.requests h
        WHERE h.bucket = in_bucket AND h.key = w.key AND h.state = 'h' AND h.ticket >= w.floor
          AND h.ticket < w.ticket
      )
    ) r
    UNION ALL
    SELECT h.key, r.session, NULL, functions.alive(r.session, own)
    FROM holdfast.requests h CROSS JOIN LATERAL (
      SELECT w.session FROM holdfast.requests w
      WHERE w.bucket = in_bucket AND w.key = h.key AND w.ticket > h.ticket AND w.state = 'w'
        AND w.priority = h.watched
      ORDER BY w.ticket LIMIT 1
    ) r
    WHERE h.session = own AND h.number >= in_first AND h.state = 'h' AND h.watched >= 0
  ) d WHERE NOT d.lives OR d.hold_until <= clock_timestamp();
END $$;

-- The holders of a name, in the order of their grants. Expired and dead ones are left out.
CREATE OR REPLACE FUNCTION functions.holders(in_bucket text, in_key text, own int, in_max int)
RETURNS TABLE (
  agent text, session int, number float8, mode "char", ticket bigint, token bigint, max_shared int,
  hold_ms float8, details text, waited_ms float8, held_ms float8, priority smallint,
  overtakes smallint
) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY -- one statement: the first waiting row and the holders are of one moment
    SELECT s.agent, r.session, r.number::float8, r.mode, r.ticket, r.token, r.max_shared,
      r.hold_ms, r.details,
      extract(epoch FROM r.granted - r.entered)::float8 * 1000,
      extract(epoch FROM clock_timestamp() - r.granted)::float8 * 1000, r.priority, r.overtakes
    FROM holdfast.requests r JOIN holdfast.sessions s ON s.session = r.session
    WHERE r.bucket = in_bucket AND r.key = in_key AND r.state = 'h'
      AND r.ticket < coalesce((
        SELECT w.ticket FROM holdfast.requests w
        WHERE w.bucket = in_bucket AND w.key = in_key AND w.state = 'w' ORDER BY w.ticket LIMIT 1
      ), 9223372036854775807)
      AND (r.hold_until > clock_timestamp()) IS NOT FALSE
      AND functions.alive(r.session, own)
    ORDER BY r.token LIMIT in_max;
END $$;

-- All requests of a bucket at one moment: the held ones in the order of their grants, the waiting
-- ones in the order of their queues. Lost, expired and dead ones are left out.
CREATE OR REPLACE FUNCTION functions.inspect(in_bucket text, own int)
RETURNS TABLE (
  key text, state "char", agent text, session int, number float8, mode "char", ticket bigint,
  token bigint, max_shared int, hold_ms float8, details text, waited_ms float8, held_ms float8,
  priority smallint, overtakes smallint
) LANGUAGE sql AS $$
  SELECT r.key, r.state, s.agent, r.session, r.number::float8, r.mode, r.ticket,
    r.token, r.max_shared, r.hold_ms, r.details,
    extract(epoch FROM coalesce(r.granted, clock_timestamp()) - r.entered)::float8 * 1000,
    extract(epoch FROM clock_timestamp() - r.granted)::float8 * 1000, r.priority, r.overtakes
  FROM (
    SELECT * FROM holdfast.sessions o
    WHERE o.bucket = in_bucket AND functions.alive(o.session, own)
    OFFSET 0
  ) s JOIN holdfast.requests r ON r.session = s.session
  WHERE r.bucket = in_bucket AND r.state <> 'g'
    AND (r.hold_until > clock_timestamp()) IS NOT FALSE
  ORDER BY r.state, r.token, r.ticket
$$;

-- Sends the events of a bucket from now on, while the session lives.
CREATE OR REPLACE FUNCTION functions.watch(in_bucket text, own int) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO holdfast.watchers VALUES (in_bucket, own) ON CONFLICT DO NOTHING
$$;

CREATE OR REPLACE FUNCTION functions.unwatch(in_bucket text, own int) RETURNS void
LANGUAGE sql AS $$
  DELETE FROM holdfast.watchers w WHERE w.bucket = in_bucket AND w.session = own
$$;
`;

/**
 * The schema of functions, and what creates it. Each build of the package has its own, named by a
 * hash, so that builds with the same tables and invariants can run side by side. The functions have
 * the rights of their caller.
 * @param {string} text
 */
function functionSchemaOf(text) {
  const hash = createHash('sha256').update(text).digest('hex');
  const name = `holdfast_${hash.slice(0, 8)}`;
  const sql = `
CREATE SCHEMA IF NOT EXISTS ${name};
GRANT USAGE ON SCHEMA ${name} TO PUBLIC;
${text.replace(/\bfunctions\.(?=\w)/g, `${name}.`)}
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${name} TO PUBLIC;
`;
  return { name, sql };
}

/** The schema of the functions of this build. */
const { name: FUNCTIONS, sql: FUNCTION_SCHEMA } = functionSchemaOf(FUNCTION_TEXT);

/** One client at a time creates the schemas. */
const LOCK_SCHEMA = 'SELECT pg_advisory_xact_lock(1212368710, 1)';

/** The whole as one transaction, for a program like psql; it can be run again. */
const SCRIPT = `BEGIN;
SET LOCAL search_path TO pg_catalog, pg_temp;
${LOCK_SCHEMA};
${TABLES}${FUNCTION_SCHEMA}COMMIT;
`;

const UNDEFINED_TABLE = '42P01';

/** @typedef {{ query(text: string): Promise<{ rows: any[] }> }} Client  of pg, in no transaction */

/** Of tables without a row of their version: a copy of the schema without its data. */
const NO_VERSION = 0;

/**
 * @param {Client} client
 * @returns {Promise<number | undefined>} undefined: there is no schema
 */
async function readVersion(client) {
  try {
    const { rows } = await client.query('SELECT version FROM holdfast.version');
    return rows[0]?.version ?? NO_VERSION;
  } catch (error) {
    if (/** @type {{ code?: unknown }} */ (error).code === UNDEFINED_TABLE) return undefined;
    throw error;
  }
}

/** Whether this build has its functions. @param {Client} client @returns {Promise<boolean>} */
async function hasFunctions(client) {
  const { rows } = await client.query(`SELECT to_regnamespace('${FUNCTIONS}') AS found`);
  return rows[0].found !== null;
}

/**
 * Creates what is missing of the tables and the functions; many clients may do so at once.
 * @param {Client} client
 * @returns {Promise<number>} the version of the tables, which may be another one
 */
async function ensureSchema(client) {
  const version = await readVersion(client);
  const isOther = version !== undefined && version !== VERSION;
  if (isOther || (version !== undefined && (await hasFunctions(client)))) return version;
  await client.query(`BEGIN; ${LOCK_SCHEMA}`);
  try {
    const { rows } = await client.query(`SELECT to_regclass('holdfast.version') AS found`);
    if (rows[0].found === null) await client.query(TABLES);
    if (!(await hasFunctions(client))) await client.query(FUNCTION_SCHEMA);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {}); // the connection is lost
    throw error;
  }
  return (await readVersion(client)) ?? VERSION;
}

/**
 * The rights that another role than the owner of the schema needs.
 * @param {string} role
 */
function grantsFor(role) {
  const name = `"${role.replaceAll('"', '""')}"`;
  return `GRANT USAGE ON SCHEMA holdfast TO ${name};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA holdfast TO ${name};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA holdfast TO ${name};
`;
}

module.exports = {
  FUNCTION_TEXT,
  FUNCTIONS,
  NO_VERSION,
  SCRIPT,
  VERSION,
  ensureSchema,
  functionSchemaOf,
  grantsFor,
  readVersion,
};
