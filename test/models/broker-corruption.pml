/* Recovery after a corrupted journal (lib/backends/broker/server/recovery.js, docs/decisions/0031):
 * the next broker reads no lock from it. It lists the lifelines, and serves when each of their clients
 * has reported its locks, or has ended. If that takes too long, the broker notifies all connected
 * clients that their locks are lost, and ends; the next broker begins again.
 *
 * Clients want one lock, each several times. A client may be slow for any time, and may die at any
 * time. A broker may die before each of its steps. The journal of each broker is corrupted when the
 * broker has ended.
 *
 * Promised: no two living clients hold the lock at the same time; no client waits for ever.
 *
 * USE_READABLE:     the next broker uses the readable part in front of the corruption. Known to be
 *                   wrong: that part lacks later grants.
 * SERVE_LATE:       the broker serves the clients that have connected after some time. Known to be
 *                   wrong: a client that has not connected may hold the lock.
 * CONNECT_FIRST:    a client connects before it has a lifeline. Known to be wrong: the list lacks the
 *                   client, which may hold the lock.
 * LIST_FIRST:       the list is made before the claim, while the previous broker may live. Known to be
 *                   wrong: the list lacks a client that connects to the previous broker afterwards.
 * HELPER_COUNTS:    the report of a helper thread counts. Known to be wrong: the client's main thread
 *                   may have an unread grant from before.
 */
#define CLIENTS 2
#define REQUESTS 2            /* of each client */
#define BROKERS 3
#define DEATHS 2          /* of brokers; others end because clients are late */

#define NOTHING 0
#define WAITING 1
#define HELD 2

mtype = { HANDSHAKE, REQUEST, RELEASE, GRANTED, OVER };

byte view[CLIENTS];       /* the state of a client's request in the client */
byte requests[CLIENTS];       /* the number of its request */
bool has_lifeline[CLIENTS];
bool is_dead[CLIENTS];
byte connected_to[CLIENTS];   /* generation of broker; 0: none */
byte finished = 0;

chan up[CLIENTS] = [4] of { mtype, byte, byte };   /* number of the request, view */
chan down[CLIENTS] = [3] of { mtype, byte };

byte generation = 0;      /* of the broker that serves or listens */
byte brokers_gone = 0;
byte deaths_left = DEATHS;
byte client_deaths_left = 1;

#ifdef USE_READABLE
byte readable[CLIENTS];   /* the content in front of the corruption */
bool is_corrupted_from_here = false;
#endif
#ifdef HELPER_COUNTS
byte helper_to[CLIENTS];  /* generation of the broker that has the helper thread's report */
byte helper_said[CLIENTS];
byte helper_request[CLIENTS];
#endif
#ifdef LIST_FIRST
bool early[CLIENTS];
bool is_listed = false;
#endif

#define IS_CONNECTED(c) (generation != 0 && connected_to[c] == generation)
#define WANTS_BROKER(c) (view[c] != NOTHING || requests[c] < REQUESTS)

#ifdef CONNECT_FIRST
#define MAY_SPEAK(c) true
#else
#define MAY_SPEAK(c) has_lifeline[c]
#endif

inline say(what, value) {
  if
  :: IS_CONNECTED(me) -> up[me]!what(requests[me], value)
  :: else
  fi
}

proctype Client(byte me) {
  mtype what;
  byte number;
  do
  :: atomic { client_deaths_left > 0 -> client_deaths_left--; is_dead[me] = true }; break
  :: atomic { !has_lifeline[me] -> has_lifeline[me] = true }
  /* Connects to a broker after it has read all messages of the previous broker. */
  :: atomic {
       generation != 0 && connected_to[me] != generation && empty(down[me]) &&
       MAY_SPEAK(me) && WANTS_BROKER(me) ->
       do :: nempty(up[me]) -> up[me]?_,_,_ :: empty(up[me]) -> break od;
       connected_to[me] = generation;
       up[me]!HANDSHAKE(requests[me], view[me])
     }
#ifdef HELPER_COUNTS
  /* The client's helper thread may connect first. */
  :: atomic {
       generation != 0 && connected_to[me] != generation && helper_to[me] != generation &&
       has_lifeline[me] ->
       helper_to[me] = generation; helper_said[me] = view[me]; helper_request[me] = requests[me]
     }
#endif
  :: atomic { view[me] == NOTHING && requests[me] < REQUESTS ->
       requests[me]++; view[me] = WAITING; say(REQUEST, 0) }
  :: atomic { view[me] == HELD -> view[me] = NOTHING; say(RELEASE, 0) }
  :: atomic { nempty(down[me]) ->
       down[me]?what(number);
       if
       :: what == GRANTED && number == requests[me] && view[me] == WAITING ->
          assert(is_dead[1 - me] || view[1 - me] != HELD);
          view[me] = HELD
       :: what == OVER -> view[me] = NOTHING; connected_to[me] = 0   /* the broker has notified it */
       :: else
       fi
     }
  :: atomic { view[me] == NOTHING && requests[me] == REQUESTS && empty(down[me]) ->
       has_lifeline[me] = false }; break
  od;
  finished++
}

/* ---- the broker ---- */

inline maybe_die() {
  if
  :: atomic { deaths_left > 0 && mine < BROKERS -> deaths_left--; generation = 0; goto gone }
  :: skip
  fi
}

inline note() {
#ifdef USE_READABLE
  if
  :: !is_corrupted_from_here -> readable[0] = b_view[0]; readable[1] = b_view[1]
  :: !is_corrupted_from_here -> is_corrupted_from_here = true
  :: is_corrupted_from_here
  fi
#else
  skip
#endif
}

inline grant_next() {
  if
  :: b_view[0] != HELD && b_view[1] != HELD && b_view[0] == WAITING -> chosen = 0
  :: b_view[0] != HELD && b_view[1] != HELD && b_view[1] == WAITING -> chosen = 1
  :: else -> chosen = CLIENTS
  fi;
  if
  :: chosen < CLIENTS ->
     b_view[chosen] = HELD;
     note();
     if
     :: connected_to[chosen] == mine -> down[chosen]!GRANTED(b_request[chosen])
     :: else
     fi
  :: else
  fi
}

/* A refusal of the kernel: the client has ended. */
#define HAS_ENDED(c) (is_dead[c] || !has_lifeline[c])

/* Messages to a broker that has ended are lost. */
#define HAS_MESSAGE(c) (nempty(up[c]) && connected_to[c] == mine)
#define NO_MESSAGE(c) (empty(up[c]) || connected_to[c] != mine)

inline gather(c) {
  if
  :: atomic { HAS_MESSAGE(c) && is_unreported[c] ->
       up[c]?what(number, said);
       assert(what == HANDSHAKE);
       reports[c] = said; b_request[c] = number; is_unreported[c] = false
     }
#ifdef HELPER_COUNTS
  :: atomic { is_unreported[c] && helper_to[c] == mine ->
       reports[c] = helper_said[c]; b_request[c] = helper_request[c]; is_unreported[c] = false }
#endif
  :: atomic { is_unreported[c] && HAS_ENDED(c) && NO_MESSAGE(c) ->
       reports[c] = NOTHING; is_unreported[c] = false }
#ifdef SERVE_LATE
  :: is_unreported[c] -> is_unreported[c] = false
#endif
  /* Too late: the broker notifies the connected clients. */
  :: atomic { is_unreported[c] && mine < BROKERS ->
       generation = 0;
       if :: connected_to[0] == mine -> down[0]!OVER(0) :: else fi;
       if :: connected_to[1] == mine -> down[1]!OVER(0) :: else fi
     };
     goto gone
  fi
}

proctype Broker(byte mine) {
  byte b_view[CLIENTS];
  byte reports[CLIENTS];
  bool is_unreported[CLIENTS];
  mtype what;
  byte b_request[CLIENTS];
  byte number, said, chosen;
  bool is_first = (mine == 1);
  atomic {
    generation = mine;      /* the broker has its claim */
    if
    :: !is_first ->
#ifdef LIST_FIRST
       is_unreported[0] = early[0];
       is_unreported[1] = early[1]
#else
       is_unreported[0] = has_lifeline[0];
       is_unreported[1] = has_lifeline[1]
#endif
    :: else
    fi
  };
#ifdef USE_READABLE
  b_view[0] = readable[0];
  b_view[1] = readable[1];
#else
  do
  :: is_unreported[0] -> gather(0); maybe_die()
  :: is_unreported[1] -> gather(1); maybe_die()
  :: !is_unreported[0] && !is_unreported[1] -> break
  od;
  b_view[0] = reports[0];
  b_view[1] = reports[1];
#endif
  assert(b_view[0] != HELD || b_view[1] != HELD);
  atomic { grant_next() };
  do
  :: finished == CLIENTS -> break
#ifdef LIST_FIRST
  :: atomic { !is_listed -> is_listed = true; early[0] = has_lifeline[0]; early[1] = has_lifeline[1] }
#endif
  :: atomic { HAS_MESSAGE(0) -> chosen = 0 }; goto read
  :: atomic { HAS_MESSAGE(1) -> chosen = 1 };
read:
     maybe_die();
     atomic {
       up[chosen]?what(number, said);
       if
       :: what == HANDSHAKE && said == WAITING && b_request[chosen] == number && b_view[chosen] == HELD ->
          down[chosen]!GRANTED(number)   /* in the journal, and not sent */
       :: what == HANDSHAKE && !(said == WAITING && b_request[chosen] == number && b_view[chosen] == HELD) ->
          b_request[chosen] = number; b_view[chosen] = said
       :: what == REQUEST -> b_request[chosen] = number; b_view[chosen] = WAITING
       :: what == RELEASE -> b_view[chosen] = NOTHING
       fi;
       note();
       grant_next()
     };
     maybe_die()
  :: atomic { is_dead[0] && NO_MESSAGE(0) && b_view[0] != NOTHING ->
       b_view[0] = NOTHING; note(); grant_next() }; maybe_die()
  :: atomic { is_dead[1] && NO_MESSAGE(1) && b_view[1] != NOTHING ->
       b_view[1] = NOTHING; note(); grant_next() }; maybe_die()
  od;
gone:
  brokers_gone++
}

/* The end: no living client waits in vain. */
active proctype Watchdog() {
  (timeout) -> assert(finished == CLIENTS)
}

init {
  byte g = 0;
  atomic { run Client(0); run Client(1) };
  do
  :: g < BROKERS ->
     g++;
     run Broker(g);
     /* The next broker, when this broker has ended. */
     (brokers_gone == g || finished == CLIENTS);
     if :: finished == CLIENTS -> break :: else fi
  :: else -> break
  od
}
