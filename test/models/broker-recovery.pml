/* Brokers that die, and their successors (lib/backends/broker/): clients that want one lock, each
 * several times, brokers one after the other (broker-election.pml decides which of them serves), and a
 * journal that survives them.
 *
 * A broker may die before each of its steps, also in its recovery. A client may die at any time, and
 * may be slow for any time: then the time for reconnecting ends without it.
 *
 * Promised: no two living clients hold the lock at the same time; no waiting client is forgotten; a
 * request in the journal is not overtaken by a request that reached the broker later.
 *
 * SEND_BEFORE_JOURNAL: a grant is sent first. Known to be wrong: the next broker does not have it.
 * FORGET_SLOW:         a client that has not reconnected in time is dropped. Known to be wrong: it may
 *                      hold the lock.
 * NO_JOURNAL:          the next broker has the reports of the clients that have reconnected, and no
 *                      journal. Known to be wrong: a client that has not reconnected may hold the lock.
 * COPY_OVER:       the next broker overwrites the journal of the previous broker. Known to be
 *                      wrong: it may die in between.
 * NO_REPEAT:           clients do not repeat their requests. Known to be wrong: requests that the
 *                      dead broker had not read are forgotten.
 */
#define CLIENTS 2
#define REQUESTS 2            /* of each client */
#define BROKERS 3

#define NOTHING 0
#define WAITING 1
#define HELD 2
#define RELEASING 3      /* a client's view: its release is not confirmed yet */

mtype = { REQUEST, RELEASE, HANDSHAKE, GRANTED, DONE };

/* The state of a client's one request in the client; `request` is its number. */
byte view[CLIENTS];
byte request[CLIENTS];
bool is_dead[CLIENTS];
byte finished = 0;        /* clients that have ended, in whatever way */

chan up[CLIENTS] = [3] of { mtype, byte, byte };   /* request number, view */
chan down[CLIENTS] = [3] of { mtype, byte };
byte connected_to[CLIENTS];  /* generation of broker; 0: none */

byte brokers_gone = 0;
byte generation = 0;      /* of the broker that lives */
byte broker_deaths_left = BROKERS - 1;
byte client_deaths_left = 1;

/* The journal: the state of its last writer. */
byte j_view[CLIENTS];
byte j_request[CLIENTS];
byte j_ticket[CLIENTS];
byte j_next_ticket = 1;
bool j_is_lost = false;   /* there is no file (COPY_OVER) */

inline enter_section() { assert(is_dead[1 - me] || view[1 - me] != HELD) }

proctype Client(byte me) {
  mtype what;
  byte number;
  do
  :: atomic { client_deaths_left > 0 -> client_deaths_left--; is_dead[me] = true }; break
  /* There is a broker, or another broker. */
  :: atomic {
       generation != 0 && connected_to[me] != generation && (request[me] < REQUESTS || view[me] != NOTHING) ->
       do :: nempty(down[me]) -> down[me]?_,_ :: empty(down[me]) -> break od;
       do :: nempty(up[me]) -> up[me]?_,_,_ :: empty(up[me]) -> break od;
       connected_to[me] = generation;
#ifdef NO_REPEAT
       up[me]!HANDSHAKE(0, NOTHING)
#else
       up[me]!HANDSHAKE(request[me], view[me])
#endif
     }
  /* Makes a request, also while there is no broker. */
  :: atomic {
       view[me] == NOTHING && request[me] < REQUESTS ->
       request[me]++;
       view[me] = WAITING;
       if
       :: connected_to[me] == generation && generation != 0 -> up[me]!REQUEST(request[me], 0)
       :: else
       fi
     }
  :: atomic { view[me] == HELD ->
       view[me] = RELEASING;
       if
       :: connected_to[me] == generation && generation != 0 -> up[me]!RELEASE(request[me], 0)
       :: else
       fi
     }
  /* Messages of a broker are read, also after its death. */
  :: atomic { nempty(down[me]) ->
       down[me]?what(number);
       if
       :: what == GRANTED && number == request[me] && view[me] == WAITING ->
          enter_section();
          view[me] = HELD
       :: what == DONE && number == request[me] && view[me] == RELEASING -> view[me] = NOTHING
       :: else
       fi
     }
  :: view[me] == NOTHING && request[me] == REQUESTS -> break
  od;
  finished++
}

/* ---- the broker ---- */

inline maybe_die() {
  if
  :: atomic { broker_deaths_left > 0 -> broker_deaths_left--; generation = 0; goto gone }
  :: skip
  fi
}

inline note(c) {
  j_view[c] = b_view[c];
  j_request[c] = b_request[c];
  j_ticket[c] = b_ticket[c];
  j_next_ticket = next_ticket
}

/* Messages to a closed connection are lost. */
inline notify(c, message) {
  if
  :: is_back[c] && connected_to[c] == mine -> assert(len(down[c]) < 3); down[c]!message,b_request[c]
  :: else
  fi
}

/* The first client in the queue, if no client holds the lock; else CLIENTS. */
inline choose() {
  if
  :: b_view[0] == HELD || b_view[1] == HELD -> chosen = CLIENTS
  :: else ->
     if
     :: b_view[0] == WAITING && (b_view[1] != WAITING || b_ticket[0] < b_ticket[1]) -> chosen = 0
     :: b_view[1] == WAITING && (b_view[0] != WAITING || b_ticket[1] < b_ticket[0]) -> chosen = 1
     :: else -> chosen = CLIENTS
     fi
  fi
}

inline grant_next() {
  atomic {
    choose();
    if
    :: chosen < CLIENTS ->
       b_view[chosen] = HELD;
#ifdef SEND_BEFORE_JOURNAL
       notify(chosen, GRANTED)
#else
       note(chosen)
#endif
    :: else
    fi
  };
  if
  :: chosen < CLIENTS ->
     maybe_die();
     atomic {
#ifdef SEND_BEFORE_JOURNAL
       note(chosen)
#else
       notify(chosen, GRANTED)
#endif
     }
  :: else
  fi
}

/* A client's report of its request: in HANDSHAKE, or in a separate message. */
inline merge(c) {
  if
  :: said == WAITING && b_request[c] == number && b_view[c] == HELD -> answer = GRANTED
  :: said == WAITING && b_request[c] == number && b_view[c] == WAITING -> skip
  :: said == WAITING && !(b_request[c] == number && b_view[c] != NOTHING) ->
     b_request[c] = number;
     b_view[c] = WAITING;
     b_ticket[c] = next_ticket;
     next_ticket++;
#ifdef SEND_BEFORE_JOURNAL
     choose();
     if :: chosen == CLIENTS -> note(c) :: else fi
#else
     note(c)
#endif
#ifdef NO_JOURNAL
  :: said == HELD -> b_request[c] = number; b_view[c] = HELD
#else
  :: said == HELD -> assert(b_request[c] == number && b_view[c] == HELD)
#endif
  :: said == RELEASING || said == NOTHING ->
     b_request[c] = number;
     b_view[c] = NOTHING;
     note(c);
     if :: said == RELEASING -> answer = DONE :: else fi
  fi
}

inline end_of_client(c) {
  b_view[c] = NOTHING;
  is_back[c] = false;
  note(c)
}

#define HAS_MESSAGE(x) (len(up[x]) > 0 && connected_to[x] == mine)
/* The client's connection is closed, or its lifeline if it has not reconnected. */
#define HAS_DIED(x) (is_dead[x] && !HAS_MESSAGE(x) && b_view[x] != NOTHING)

proctype Broker(byte mine) {
  byte b_view[CLIENTS];
  byte b_request[CLIENTS];
  byte b_ticket[CLIENTS];
  bool is_back[CLIENTS];
  byte next_ticket;
  mtype what, answer;
  byte number, said, c, chosen;
  /* Recovery: reads the journal of the previous broker. */
  d_step {
    next_ticket = j_next_ticket;
    do
    :: c < CLIENTS ->
#ifndef NO_JOURNAL
       if
       :: !j_is_lost -> b_view[c] = j_view[c]; b_request[c] = j_request[c]; b_ticket[c] = j_ticket[c]
       :: else
       fi;
#endif
       c++
    :: else -> break
    od;
    c = 0
  };
  maybe_die();
#ifdef COPY_OVER
  j_is_lost = true;       /* the old journal is emptied, and then written again */
  maybe_die();
  j_is_lost = false;
#endif
  generation = mine;      /* from here on clients reach it */
  /* A grant that was possible and is not in the journal. */
  grant_next();
  do
  :: finished == CLIENTS -> break
  :: atomic { HAS_MESSAGE(0) -> c = 0 }; goto read
  :: atomic { HAS_MESSAGE(1) -> c = 1 };
read:
     maybe_die();
     atomic {
       up[c]?what,number,said;
       if
       :: what == HANDSHAKE -> is_back[c] = true
       :: what == REQUEST -> said = WAITING
       :: what == RELEASE -> said = RELEASING
       fi;
       answer = 0;
       merge(c)
     };
     maybe_die();
     atomic {
       if :: answer != 0 -> notify(c, answer) :: else fi;
       what = 0; answer = 0; number = 0; said = 0; c = 0
     };
     grant_next()
  :: atomic { HAS_DIED(0) -> end_of_client(0) }; maybe_die(); grant_next()
  :: atomic { HAS_DIED(1) -> end_of_client(1) }; maybe_die(); grant_next()
#ifdef FORGET_SLOW
  :: atomic { !is_back[0] && b_view[0] != NOTHING -> end_of_client(0) }; grant_next()
  :: atomic { !is_back[1] && b_view[1] != NOTHING -> end_of_client(1) }; grant_next()
#endif
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
     /* The next broker, when this broker has died. */
     (brokers_gone == g || finished == CLIENTS);
     if :: finished == CLIENTS -> break :: else fi
  :: else -> break
  od
}
