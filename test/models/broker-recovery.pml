/* Brokers that die and those that come after them (lib/backends/broker/): clients that want one
 * lock, each several times, brokers one after the other (which of them serves is the matter of
 * broker-election.pml), and a journal that survives them.
 *
 * A broker may die before each of its steps, also in its recovery. A client may die at any time, and
 * be slow for any time: then the time for coming back ends without it.
 *
 * Promised: no two clients that live hold the lock at the same time; nobody who waits is forgotten;
 * a request that was in the journal is not overtaken by one that came to the broker later.
 *
 * SEND_BEFORE_JOURNAL: a grant is sent first. Known to be wrong: the next broker does not know it.
 * FORGET_SLOW:         who has not come back in time is dropped. Known to be wrong: it may hold the lock.
 * COPY_IN_PLACE:       the next broker writes its own journal over that of the one before. Known to
 *                      be wrong: it may die in between.
 * NO_RETELL:           clients do not repeat what they have asked for. Known to be wrong: what the
 *                      dead broker had not read is forgotten.
 */
#define CLIENTS 2
#define ASKS 2            /* of each client */
#define BROKERS 3

#define NOTHING 0
#define WAITING 1
#define HELD 2
#define GIVEN_BACK 3      /* a client's view: its release has still to be confirmed */

mtype = { ASK, GIVE_BACK, HELLO, GRANTED, DONE };

/* What a client knows of its one request; `ask` is its number. */
byte view[CLIENTS];
byte ask[CLIENTS];
bool is_dead[CLIENTS];
byte finished = 0;        /* clients that have ended, in whatever way */

chan up[CLIENTS] = [3] of { mtype, byte, byte };   /* request number, view */
chan down[CLIENTS] = [3] of { mtype, byte };
byte connected_to[CLIENTS];  /* generation of broker; 0: none */

byte brokers_gone = 0;
byte generation = 0;      /* of the broker that lives */
byte broker_deaths_left = BROKERS - 1;
byte client_deaths_left = 1;

/* The journal: what the last one who wrote it knew. */
byte j_view[CLIENTS];
byte j_ask[CLIENTS];
byte j_ticket[CLIENTS];
byte j_next_ticket = 1;
bool j_is_lost = false;   /* the file is not there (COPY_IN_PLACE) */

inline enter_section() { assert(is_dead[1 - me] || view[1 - me] != HELD) }

proctype Client(byte me) {
  mtype what;
  byte number;
  do
  :: atomic { client_deaths_left > 0 -> client_deaths_left--; is_dead[me] = true }; break
  /* A broker has come, or another one. */
  :: atomic {
       generation != 0 && connected_to[me] != generation && (ask[me] < ASKS || view[me] != NOTHING) ->
       do :: nempty(down[me]) -> down[me]?_,_ :: empty(down[me]) -> break od;
       do :: nempty(up[me]) -> up[me]?_,_,_ :: empty(up[me]) -> break od;
       connected_to[me] = generation;
#ifdef NO_RETELL
       up[me]!HELLO(0, NOTHING)
#else
       up[me]!HELLO(ask[me], view[me])
#endif
     }
  /* Asks; also while there is no broker. */
  :: atomic {
       view[me] == NOTHING && ask[me] < ASKS ->
       ask[me]++;
       view[me] = WAITING;
       if
       :: connected_to[me] == generation && generation != 0 -> up[me]!ASK(ask[me], 0)
       :: else
       fi
     }
  :: atomic { view[me] == HELD ->
       view[me] = GIVEN_BACK;
       if
       :: connected_to[me] == generation && generation != 0 -> up[me]!GIVE_BACK(ask[me], 0)
       :: else
       fi
     }
  /* What a broker has sent is read, also when it is dead. */
  :: atomic { nempty(down[me]) ->
       down[me]?what(number);
       if
       :: what == GRANTED && number == ask[me] && view[me] == WAITING ->
          enter_section();
          view[me] = HELD
       :: what == DONE && number == ask[me] && view[me] == GIVEN_BACK -> view[me] = NOTHING
       :: else
       fi
     }
  :: view[me] == NOTHING && ask[me] == ASKS -> break
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
  j_ask[c] = b_ask[c];
  j_ticket[c] = b_ticket[c];
  j_next_ticket = next_ticket
}

/* Nobody hears what is sent to a connection that has gone. */
inline tell(c, message) {
  if
  :: is_back[c] && connected_to[c] == mine -> assert(len(down[c]) < 3); down[c]!message,b_ask[c]
  :: else
  fi
}

/* The one that is first in the queue, if nobody holds the lock; else CLIENTS. */
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
       tell(chosen, GRANTED)
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
       tell(chosen, GRANTED)
#endif
     }
  :: else
  fi
}

/* What a client says of its request: in HELLO, or by itself. */
inline merge(c) {
  if
  :: said == WAITING && b_ask[c] == number && b_view[c] == HELD -> answer = GRANTED
  :: said == WAITING && b_ask[c] == number && b_view[c] == WAITING -> skip
  :: said == WAITING && !(b_ask[c] == number && b_view[c] != NOTHING) ->
     b_ask[c] = number;
     b_view[c] = WAITING;
     b_ticket[c] = next_ticket;
     next_ticket++;
#ifdef SEND_BEFORE_JOURNAL
     choose();
     if :: chosen == CLIENTS -> note(c) :: else fi
#else
     note(c)
#endif
  :: said == HELD -> assert(b_ask[c] == number && b_view[c] == HELD)
  :: said == GIVEN_BACK || said == NOTHING ->
     b_ask[c] = number;
     b_view[c] = NOTHING;
     note(c);
     if :: said == GIVEN_BACK -> answer = DONE :: else fi
  fi
}

inline end_of_client(c) {
  b_view[c] = NOTHING;
  is_back[c] = false;
  note(c)
}

#define HAS_MAIL(x) (len(up[x]) > 0 && connected_to[x] == mine)
/* Its connection is closed, or its lifeline, where it has not come back. */
#define HAS_DIED(x) (is_dead[x] && !HAS_MAIL(x) && b_view[x] != NOTHING)

proctype Broker(byte mine) {
  byte b_view[CLIENTS];
  byte b_ask[CLIENTS];
  byte b_ticket[CLIENTS];
  bool is_back[CLIENTS];
  byte next_ticket;
  mtype what, answer;
  byte number, said, c, chosen;
  /* Recovery: reads the journal of the one before. */
  d_step {
    next_ticket = j_next_ticket;
    do
    :: c < CLIENTS ->
       if
       :: !j_is_lost -> b_view[c] = j_view[c]; b_ask[c] = j_ask[c]; b_ticket[c] = j_ticket[c]
       :: else
       fi;
       c++
    :: else -> break
    od;
    c = 0
  };
  maybe_die();
#ifdef COPY_IN_PLACE
  j_is_lost = true;       /* the old one is emptied, and then written again */
  maybe_die();
  j_is_lost = false;
#endif
  generation = mine;      /* from here on it is heard and answers */
  /* A grant that was possible and is not in the journal. */
  grant_next();
  do
  :: finished == CLIENTS -> break
  :: atomic { HAS_MAIL(0) -> c = 0 }; goto read
  :: atomic { HAS_MAIL(1) -> c = 1 };
read:
     maybe_die();
     atomic {
       up[c]?what,number,said;
       if
       :: what == HELLO -> is_back[c] = true
       :: what == ASK -> said = WAITING
       :: what == GIVE_BACK -> said = GIVEN_BACK
       fi;
       answer = 0;
       merge(c)
     };
     maybe_die();
     atomic {
       if :: answer != 0 -> tell(c, answer) :: else fi;
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

/* Nothing moves any more: nobody who lives waits in vain. */
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
     /* The next one, when this one has died. */
     (brokers_gone == g || finished == CLIENTS);
     if :: finished == CLIENTS -> break :: else fi
  :: else -> break
  od
}
