/* Names that are kept (docs/decisions/0025-biased-locks.md): the owner of a kept record takes it and
 * gives it back by one compare-and-exchange of its state, without the shard lock. All others close
 * the record first, by an exchange of the same word. One of all may die at any point.
 *
 * The owner makes several requests for one name, by the short way whenever the record is kept.
 * Others (one, or two with OTHERS=2) make one request each, inside the shard, or into its intake while it is locked. A worker
 * visits the shard, for something of its own, too, and reaps the dead. The intake itself (numbers,
 * links, repair) is in publication-list.pml; here a push and a take of the whole stack are one step each.
 *
 * Promised: one living holder at most. A request that began after another had returned is granted
 * after it. Tokens rise with the grants of the name. Whoever lives is granted the lock. A cell is
 * another record's only when its agent knows. A reader sees the fields of one hold, and of the
 * present one. From the return of watch() on, nothing happens by the short way.
 *
 * WATCH:  somebody begins to watch.
 * READ:   somebody reads the record, inside the shard.
 *
 * FREE_AT_ONCE:     who takes a kept record away uses its cell again.
 * BLIND_TAKE:       take stores without a comparison.
 * BLIND_GIVE:       so does give back.
 * TOKEN_AFTER_TAKE: the token is stored after the exchange. (READ)
 * READ_OPEN:        the reader does not close. (READ)
 * NO_PUSH_CLOSE:    who puts an operation into the intake closes nothing.
 * CLOSE_BEFORE_PUSH: it closes first and pushes then.
 * NO_LAST_LOOK:     who keeps a record does not look at the intake and at `watched` afterwards.
 * LOOK_BEFORE_KEEP: it looks before it stores the state.
 * WATCH_CLOSE_FIRST: a watcher closes first and makes `watched` odd then. (WATCH)
 * KEEP_WITH_QUEUE:  a record is kept although somebody waits.
 * NO_SETTLE:        a request takes a name without counted holders for free.
 * REPAIR_OPEN:      a repair leaves open records open, and out of the index. (OTHERS=2: the one who
 *                   repairs is not the one who asks next)
 */
#ifndef ROUNDS
#define ROUNDS 3 /* of the owner */
#endif
#ifndef OTHERS
#define OTHERS 1 /* or 2 */
#endif
#define REQUESTS (ROUNDS + OTHERS)
#define OWNER 0
#define WORKER (OTHERS + 1)
#define NOBODY 255

/* The states of the owner's record. */
#define FREE 0
#define WAITING 1
#define HELD 2
#define KEPT 3
#define TAKEN 4
#define REVOKED 5
#define FOREIGN 6 /* the cell is the record of another agent: only with FREE_AT_ONCE */

byte state = FREE;
byte ticket = 0;
byte token = 0, copy = 0; /* two fields that are stored for each hold: the token, and its copy */
byte drawn = 0;           /* only to check: the token of the present hold */
bool in_kept = false;     /* `kept` of the shard names the cell */
bool linked = false, counted = false; /* index: in the held list; among its counts */

/* The records of the others, by their process (1, 2): FREE, WAITING or HELD. */
byte other[OTHERS + 1];
byte other_ticket[OTHERS + 1];

byte last_token = 0, last_ticket = 0;
byte newest = 0; /* only to check: the token of the newest grant of the name */

/* The shard. */
byte word = NOBODY; /* the owner of its lock */
bool in_stack[OTHERS + 1], in_hand[OTHERS + 1], pending[OTHERS + 1];
byte number[OTHERS + 1];
byte numbers = 0;
bool watched = false;
bool watching = false; /* watch() has returned */

bool dead[OTHERS + 2];
#ifdef NO_DEATH
byte deaths_left = 0;
#else
byte deaths_left = 1;
#endif
#ifdef VISITS
byte visits_left = VISITS;
#else
byte visits_left = 1;
#endif
byte running = OTHERS + 1;

/* Only to check: real time, and who is in the critical section. */
bool returned[REQUESTS], granted[REQUESTS];
bool comes_after[REQUESTS * REQUESTS];
byte present = 0;      /* the owner's request */
bool owner_holds = false;
byte holders = 0;      /* living */
hidden byte i;
hidden byte best;

#define REQUEST_OF(p) (ROUNDS + (p) - 1)
#define PROCESS_OF(r) ((r) < ROUNDS -> OWNER : (r) - ROUNDS + 1)

#define MAY_DIE \
  if \
  :: atomic { me != WORKER && deaths_left > 0 -> deaths_left--; Die(); goto gone } \
  :: skip \
  fi

inline Die() {
  dead[me] = true;
  if
  :: me == OWNER && owner_holds -> owner_holds = false; holders--
  :: me != OWNER && other[me] == HELD && granted[REQUEST_OF(me)] -> holders--
  :: else
  fi
}

inline Begin(r) {
  d_step {
    i = 0;
    do
    :: i < REQUESTS -> comes_after[r * REQUESTS + i] = returned[i]; i++
    :: else -> break
    od;
    i = 0
  }
}

/* Within one step: request r has the lock, with this token. */
inline NoteGrant(r, its_token) {
  assert(its_token > newest);
  newest = its_token;
  i = 0;
  do
  :: i < REQUESTS ->
     assert(!(comes_after[r * REQUESTS + i] && !granted[i] && !dead[PROCESS_OF(i)]));
     i++
  :: else -> break
  od;
  i = 0;
  granted[r] = true;
  if
  :: !dead[PROCESS_OF(r)] -> holders++; assert(holders == 1)
  :: else
  fi;
  if
  :: r < ROUNDS -> drawn = its_token; owner_holds = !dead[OWNER]
  :: else
  fi
}

/* Anybody, anywhere, any number of times. */
inline Close() {
  do
#ifdef FREE_AT_ONCE
  :: atomic { state == KEPT -> state = (word == me -> FOREIGN : REVOKED) } break
#else
  :: atomic { state == KEPT -> state = REVOKED } break
#endif
  :: atomic { state == TAKEN -> state = HELD } break
  :: state != KEPT && state != TAKEN -> break
  od
}

/* Inside: the record that is in the held list and not counted. */
inline Settle() {
  if
  :: linked && !counted ->
     Close();
     MAY_DIE;
     if
     :: state == HELD -> counted = true
     :: else -> linked = false; in_kept = false
     fi
  :: else
  fi
}

#define IS_ANY_IN_STACK (in_stack[1] || in_stack[OTHERS])
#define IS_ANY_IN_HAND (in_hand[1] || in_hand[OTHERS])
#define IS_HELD_BY_OTHER (other[1] == HELD || other[OTHERS] == HELD)
#define IS_ANY_WAITING (other[1] == WAITING || other[OTHERS] == WAITING || state == WAITING)
#ifdef NO_SETTLE
#define HAS_NO_HOLDER (!counted && !IS_HELD_BY_OTHER)
#else
#define HAS_NO_HOLDER (!linked && !IS_HELD_BY_OTHER)
#endif

/* Inside: the first in the queue is granted the lock if that is free. */
inline ProcessQueue() {
  d_step {
    if
    :: HAS_NO_HOLDER && IS_ANY_WAITING ->
       best = NOBODY; i = 1;
       do
       :: i <= OTHERS ->
          if
          :: other[i] == WAITING && (best == NOBODY || other_ticket[i] < other_ticket[best]) -> best = i
          :: else
          fi;
          i++
       :: else -> break
       od;
       i = 0;
       last_token++;
       if
       :: state == WAITING && (best == NOBODY || ticket < other_ticket[best]) ->
          state = HELD; linked = true; counted = true; token = last_token; copy = last_token;
          NoteGrant(present, last_token)
       :: else ->
          other[best] = HELD;
          NoteGrant(REQUEST_OF(best), last_token)
       fi;
       best = 0
    :: else
    fi
  }
}

/* Inside: the request of an other. */
inline Execute(p) {
#ifndef NO_SETTLE
  Settle();
#endif
  MAY_DIE;
  d_step { last_ticket++; other_ticket[p] = last_ticket; other[p] = WAITING };
  ProcessQueue()
}

/* Takes the whole stack and executes it, oldest first, until nothing is left. */
inline Drain() {
  do
  :: IS_ANY_IN_HAND ->
     chosen = (in_hand[1] && (!in_hand[OTHERS] || number[1] <= number[OTHERS]) -> 1 : OTHERS);
     if
     :: pending[chosen] && other[chosen] == FREE && !granted[REQUEST_OF(chosen)] && !dead[chosen] ->
        Execute(chosen); MAY_DIE
     :: else
     fi;
     atomic { in_hand[chosen] = false; pending[chosen] = false; chosen = 0 }
  :: !IS_ANY_IN_HAND && IS_ANY_IN_STACK ->
     d_step {
       in_hand[1] = in_stack[1]; in_hand[OTHERS] = in_stack[OTHERS];
       in_stack[1] = false; in_stack[OTHERS] = false
     };
     MAY_DIE
  :: else -> break
  od
}

/* Inside: what the dead have left. */
inline ReapDead() {
  Settle();
  d_step {
    if
    :: dead[OWNER] && state != FREE && state != FOREIGN ->
       state = FREE; linked = false; counted = false; in_kept = false
    :: else
    fi;
    if
    :: dead[1] && other[1] != FREE -> other[1] = FREE
    :: else
    fi;
    if
    :: dead[OTHERS] && other[OTHERS] != FREE -> other[OTHERS] = FREE
    :: else
    fi
  }
}

/* Inside, after a death inside: the records, and the operations that are pending, which Drain()
 * then executes. */
inline Repair() {
#ifndef REPAIR_OPEN
  Close();
#endif
  MAY_DIE;
  d_step {
    in_kept = false;
    linked = (state == HELD);
    counted = linked;
    in_stack[1] = false; in_stack[OTHERS] = false;
    in_hand[1] = pending[1]; in_hand[OTHERS] = pending[OTHERS]
  };
  ReapDead();
  ProcessQueue();
  MAY_DIE
}

#define TRY_LOCK(yes) atomic { word == NOBODY -> word = me; yes = true }
#define TAKE_OVER(yes) atomic { word != NOBODY && dead[word] -> word = me; yes = true; is_taken_over = true }
#define IS_LOCKED (word != NOBODY && !dead[word])

inline BeginVisit() {
  MAY_DIE;
  if
  :: is_taken_over -> Repair(); is_taken_over = false
  :: else
  fi;
  Drain()
}

/* Waits for the lock: only where the code does not have to be quick in this model. */
inline Enter() {
  if
  :: TRY_LOCK(is_inside)
  :: TAKE_OVER(is_inside)
  fi;
  BeginVisit()
}

/* What has been put in meanwhile is left to the worker (publication-list.pml has the second look). */
inline Leave() {
  MAY_DIE;
  atomic { word = NOBODY; is_inside = false }
}

/* By the owner, inside, instead of the end of a held record. */
inline Keep() {
  in_kept = true;
  MAY_DIE;
#ifdef LOOK_BEFORE_KEEP
  if
  :: IS_ANY_IN_STACK || watched -> must_close = true
  :: else
  fi;
#endif
  atomic {
    counted = false;
    owner_holds = false; holders--;
    state = KEPT
  };
  MAY_DIE;
#ifndef LOOK_BEFORE_KEEP
#ifndef NO_LAST_LOOK
  if
  :: IS_ANY_IN_STACK || watched -> must_close = true
  :: else
  fi;
#endif
#endif
  if
  :: must_close ->
     must_close = false;
     /* An ordinary held record again, whatever others have made of it, and its ordinary end. */
     atomic { state = HELD; counted = true };
     MAY_DIE;
     d_step { state = FREE; linked = false; counted = false; in_kept = false };
     MAY_DIE;
     ProcessQueue()
  :: else
  fi
}

proctype Owner(byte me) {
  bool is_inside = false, is_taken_over = false, took = false, gave = false, must_close = false;
  byte chosen = 0, mine = 0;
  byte round = 0;

  do
  :: round < ROUNDS ->
     took = false;
     Begin(round);
     if
     :: state == KEPT ->
        /* The short way. */
        atomic { last_token++; mine = last_token };
        MAY_DIE;
#ifndef TOKEN_AFTER_TAKE
        atomic { assert(state != FOREIGN); token = mine };
        MAY_DIE;
        atomic { assert(state != FOREIGN); copy = mine };
        MAY_DIE;
#endif
        if
#ifdef BLIND_TAKE
        :: atomic {
             state = TAKEN; took = true; present = round; assert(!watching); NoteGrant(round, mine)
           }
#else
        :: atomic {
             state == KEPT ->
             state = TAKEN; took = true; present = round; assert(!watching); NoteGrant(round, mine)
           }
        :: state != KEPT
#endif
        fi;
#ifdef TOKEN_AFTER_TAKE
        if
        :: took -> token = mine; copy = mine
        :: else
        fi;
#endif
        mine = 0
     :: else
     fi;
     MAY_DIE;
     if
     :: took -> skip
     :: else ->
        Enter();
        /* What others have closed, and what was never taken: freed by its agent alone. */
        Settle();
        MAY_DIE;
        d_step {
          if
          :: state == REVOKED || state == FOREIGN -> state = FREE /* FOREIGN: uses another cell */
          :: else
          fi
        };
        assert(state == FREE);
        d_step { last_ticket++; ticket = last_ticket; present = round; state = WAITING };
        ProcessQueue();
        MAY_DIE;
        Leave()
     fi;
     returned[round] = true;
     granted[round];
     MAY_DIE;

     /* It holds the lock. */
     gave = false;
     if
     :: took ->
        if
#ifdef BLIND_GIVE
        :: atomic { state = KEPT; gave = true; owner_holds = false; holders--; assert(!watching) }
#else
        :: atomic {
             state == TAKEN ->
             state = KEPT; gave = true; owner_holds = false; holders--; assert(!watching)
           }
        :: state != TAKEN
#endif
        fi
     :: else
     fi;
     MAY_DIE;
     if
     :: gave
     :: !gave ->
        Enter();
        Settle();
        MAY_DIE;
        assert(state == HELD);
        if
#ifdef KEEP_WITH_QUEUE
        :: true -> Keep()
#else
        :: !IS_ANY_WAITING && !watched -> Keep()
#endif
        :: true ->
           d_step {
             state = FREE; linked = false; counted = false; in_kept = false;
             owner_holds = false; holders--
           };
           MAY_DIE;
           ProcessQueue()
        fi;
        MAY_DIE;
        Leave()
     fi;
     round++
  :: else -> break
  od;
gone:
  running--
}

proctype Other(byte me) {
  bool is_inside = false, is_taken_over = false;
  byte chosen = 0;

  Begin(REQUEST_OF(me));
  if
  :: TRY_LOCK(is_inside)
  :: TAKE_OVER(is_inside)
  :: IS_LOCKED
  fi;
  if
  :: is_inside -> BeginVisit(); Execute(me); MAY_DIE; Leave()
  :: else ->
#ifdef CLOSE_BEFORE_PUSH
     if
     :: in_kept -> Close()
     :: else
     fi;
     skip;
#endif
     d_step { numbers++; number[me] = numbers; pending[me] = true; in_stack[me] = true };
     MAY_DIE;
#if !defined(NO_PUSH_CLOSE) && !defined(CLOSE_BEFORE_PUSH)
     if
     :: in_kept -> Close()
     :: else
     fi;
#endif
     MAY_DIE
     /* The attempt after the push is left to the worker. */
  fi;
  returned[REQUEST_OF(me)] = true;
  granted[REQUEST_OF(me)];
  MAY_DIE;
  Enter();
  MAY_DIE;
  atomic { assert(other[me] == HELD); other[me] = FREE; holders-- };
  MAY_DIE;
  Settle();
  ProcessQueue();
  Leave();
gone:
  running--
}

#define HAS_LEFT_SOMETHING \
  ((word != NOBODY && dead[word]) || (dead[OWNER] && state != FREE && state != FOREIGN) || (dead[1] && other[1] != FREE) || \
   (dead[OTHERS] && other[OTHERS] != FREE) || (pending[1] && !dead[1]) || \
   (pending[OTHERS] && !dead[OTHERS]))

/* The background worker of a process that lives: visits, and reaps. */
proctype Worker(byte me) {
  bool is_inside = false, is_taken_over = false;
  byte chosen = 0;
  do
  :: HAS_LEFT_SOMETHING -> Enter(); ReapDead(); ProcessQueue(); Leave()
  :: atomic { visits_left > 0 -> visits_left-- } Enter(); Leave()
  :: running == 0 && !HAS_LEFT_SOMETHING -> break
  od;
gone:
  skip
}

#ifdef READ
/* inspect(), holdersOf(): inside the shard. */
proctype Reader(byte me) {
  bool is_inside = false, is_taken_over = false;
  byte chosen = 0, seen = 0;
  Enter();
#ifndef READ_OPEN
  Settle();
#endif
  if
  :: state == HELD || state == TAKEN ->
     atomic { seen = token; assert(!owner_holds || seen == drawn) };
     if
     :: state == HELD || state == TAKEN -> assert(copy == seen)
     :: else
     fi
  :: else
  fi;
  seen = 0;
  Leave();
gone:
  skip
}
#endif

#ifdef WATCH
/* The beginning of a watch: without the shard lock. */
proctype Watcher(byte me) {
#ifdef WATCH_CLOSE_FIRST
  if
  :: in_kept -> Close()
  :: else
  fi;
  watched = true;
#else
  watched = true;
  if
  :: in_kept -> Close()
  :: else
  fi;
#endif
  watching = true
}
#endif

init {
  atomic {
    run Owner(OWNER);
    run Other(1);
#if OTHERS == 2
    run Other(2);
#endif
    run Worker(WORKER);
#ifdef READ
    run Reader(WORKER);
#endif
#ifdef WATCH
    run Watcher(WORKER)
#endif
  }
}
