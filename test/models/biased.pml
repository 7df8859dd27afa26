/* Biased locks (docs/decisions/0025-biased-locks.md): the owner of a biased record acquires and
 * releases it by one compare-and-exchange of its state, without the shard lock. All other processes
 * first revoke the bias, by an exchange of the same word. One of the processes may die at any point.
 *
 * The owner makes several requests for one name, on the biased path if the record is biased. Others
 * (one, or two with OTHERS=2) make one request each: inside the shard, or into its publication list
 * while it is locked. A worker enters the shard, also for work of another kind, and reaps the dead.
 * The publication list (numbers, links, repair) is in publication-list.pml; here a push is one step,
 * and to take the whole stack is one step.
 *
 * Promised: there is at most one living holder. A request that began after another had returned is
 * granted after it. Tokens rise with the grants of the name. Each living request is granted. A cell
 * becomes another record only after its agent has freed it. A reader reads the fields of one hold, the
 * present hold. After the return of watch() no lock is acquired or released on the biased path.
 *
 * WATCH:  a watch begins.
 * READ:   a reader reads the record, inside the shard.
 *
 * FREE_AT_ONCE:     a process that revokes a biased record reuses its cell.
 * BLIND_ACQUIRE:       the acquisition stores without a comparison.
 * BLIND_RELEASE:       the release stores without a comparison.
 * TOKEN_AFTER_ACQUIRE: the token is stored after the exchange. (READ)
 * READ_BIASED:        the reader does not revoke. (READ)
 * NO_PUSH_REVOKE:    a process that publishes an operation revokes nothing.
 * REVOKE_BEFORE_PUSH: the process revokes first, then pushes.
 * NO_LAST_CHECK:     a process that biases a record does not check the publication list and `watched`
 *                   afterwards.
 * CHECK_BEFORE_BIAS: the process checks before it stores the state.
 * WATCH_REVOKE_FIRST: a watcher revokes first, then makes `watched` odd. (WATCH)
 * BIAS_WITH_QUEUE:  a record is biased although a request waits.
 * NO_SETTLE:        a request grants a name without counted holders as if it were free.
 * REPAIR_BIASED:      a repair leaves biased records biased, and out of the index. (OTHERS=2: the
 *                   repairing process does not make the next request)
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
#define NO_PROCESS 255

/* The states of the owner's record. */
#define FREE 0
#define WAITING 1
#define HELD 2
#define BIASED_FREE 3
#define BIASED_HELD 4
#define REVOKED 5
#define FOREIGN 6 /* the cell is the record of another agent: only with FREE_AT_ONCE */

byte state = FREE;
byte ticket = 0;
byte token = 0, copy = 0; /* two fields that are stored for each hold: the token, and its copy */
byte drawn = 0;           /* for assertions: the token of the present hold */
bool in_biased = false;     /* `biased` of the shard names the cell */
bool linked = false, counted = false; /* index: in the held list; among its counts */

/* The records of the others, by their process (1, 2): FREE, WAITING or HELD. */
byte other[OTHERS + 1];
byte other_ticket[OTHERS + 1];

byte last_token = 0, last_ticket = 0;
byte newest = 0; /* for assertions: the token of the newest grant of the name */

/* The shard. */
byte word = NO_PROCESS; /* the owner of its lock */
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
#ifdef ENTRIES
byte entries_left = ENTRIES;
#else
byte entries_left = 1;
#endif
byte running = OTHERS + 1;

/* For assertions: real time, and the processes in the critical section. */
bool returned[REQUESTS], granted[REQUESTS];
bool is_after[REQUESTS * REQUESTS];
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
    :: i < REQUESTS -> is_after[r * REQUESTS + i] = returned[i]; i++
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
     assert(!(is_after[r * REQUESTS + i] && !granted[i] && !dead[PROCESS_OF(i)]));
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

/* By any process, at any point, any number of times. */
inline Revoke() {
  do
#ifdef FREE_AT_ONCE
  :: atomic { state == BIASED_FREE -> state = (word == me -> FOREIGN : REVOKED) } break
#else
  :: atomic { state == BIASED_FREE -> state = REVOKED } break
#endif
  :: atomic { state == BIASED_HELD -> state = HELD } break
  :: state != BIASED_FREE && state != BIASED_HELD -> break
  od
}

/* Inside: the record that is in the held list and not counted. */
inline Settle() {
  if
  :: linked && !counted ->
     Revoke();
     MAY_DIE;
     if
     :: state == HELD -> counted = true
     :: else -> linked = false; in_biased = false
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
       best = NO_PROCESS; i = 1;
       do
       :: i <= OTHERS ->
          if
          :: other[i] == WAITING && (best == NO_PROCESS || other_ticket[i] < other_ticket[best]) -> best = i
          :: else
          fi;
          i++
       :: else -> break
       od;
       i = 0;
       last_token++;
       if
       :: state == WAITING && (best == NO_PROCESS || ticket < other_ticket[best]) ->
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

/* Inside: the request of another process. */
inline Execute(p) {
#ifndef NO_SETTLE
  Settle();
#endif
  MAY_DIE;
  d_step { last_ticket++; other_ticket[p] = last_ticket; other[p] = WAITING };
  ProcessQueue()
}

/* Takes the whole stack and executes it, oldest first, until it is empty. */
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

/* Inside: ends the records of the dead. */
inline ReapDead() {
  Settle();
  d_step {
    if
    :: dead[OWNER] && state != FREE && state != FOREIGN ->
       state = FREE; linked = false; counted = false; in_biased = false
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
#ifndef REPAIR_BIASED
  Revoke();
#endif
  MAY_DIE;
  d_step {
    in_biased = false;
    linked = (state == HELD);
    counted = linked;
    in_stack[1] = false; in_stack[OTHERS] = false;
    in_hand[1] = pending[1]; in_hand[OTHERS] = pending[OTHERS]
  };
  ReapDead();
  ProcessQueue();
  MAY_DIE
}

#define TRY_LOCK(yes) atomic { word == NO_PROCESS -> word = me; yes = true }
#define TAKE_OVER(yes) atomic { word != NO_PROCESS && dead[word] -> word = me; yes = true; is_taken_over = true }
#define IS_LOCKED (word != NO_PROCESS && !dead[word])

inline BeginVisit() {
  MAY_DIE;
  if
  :: is_taken_over -> Repair(); is_taken_over = false
  :: else
  fi;
  Drain()
}

/* Waits for the lock: only if the modelled code may wait. */
inline Enter() {
  if
  :: TRY_LOCK(is_inside)
  :: TAKE_OVER(is_inside)
  fi;
  BeginVisit()
}

/* The worker executes operations that were pushed meanwhile (publication-list.pml has the second
 * check). */
inline Leave() {
  MAY_DIE;
  atomic { word = NO_PROCESS; is_inside = false }
}

/* By the owner, inside: biases the record in place of its end. */
inline Keep() {
  in_biased = true;
  MAY_DIE;
#ifdef CHECK_BEFORE_BIAS
  if
  :: IS_ANY_IN_STACK || watched -> must_close = true
  :: else
  fi;
#endif
  atomic {
    counted = false;
    owner_holds = false; holders--;
    state = BIASED_FREE
  };
  MAY_DIE;
#ifndef CHECK_BEFORE_BIAS
#ifndef NO_LAST_CHECK
  if
  :: IS_ANY_IN_STACK || watched -> must_close = true
  :: else
  fi;
#endif
#endif
  if
  :: must_close ->
     must_close = false;
     /* Makes the record an ordinary held record, in whatever state others left it, then ends it. */
     atomic { state = HELD; counted = true };
     MAY_DIE;
     d_step { state = FREE; linked = false; counted = false; in_biased = false };
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
     :: state == BIASED_FREE ->
        /* The biased path. */
        atomic { last_token++; mine = last_token };
        MAY_DIE;
#ifndef TOKEN_AFTER_ACQUIRE
        atomic { assert(state != FOREIGN); token = mine };
        MAY_DIE;
        atomic { assert(state != FOREIGN); copy = mine };
        MAY_DIE;
#endif
        if
#ifdef BLIND_ACQUIRE
        :: atomic {
             state = BIASED_HELD; took = true; present = round; assert(!watching); NoteGrant(round, mine)
           }
#else
        :: atomic {
             state == BIASED_FREE ->
             state = BIASED_HELD; took = true; present = round; assert(!watching); NoteGrant(round, mine)
           }
        :: state != BIASED_FREE
#endif
        fi;
#ifdef TOKEN_AFTER_ACQUIRE
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
        /* A revoked record, and a record that was never acquired: only its agent frees them. */
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

     /* The owner holds the lock. */
     gave = false;
     if
     :: took ->
        if
#ifdef BLIND_RELEASE
        :: atomic { state = BIASED_FREE; gave = true; owner_holds = false; holders--; assert(!watching) }
#else
        :: atomic {
             state == BIASED_HELD ->
             state = BIASED_FREE; gave = true; owner_holds = false; holders--; assert(!watching)
           }
        :: state != BIASED_HELD
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
#ifdef BIAS_WITH_QUEUE
        :: true -> Keep()
#else
        :: !IS_ANY_WAITING && !watched -> Keep()
#endif
        :: true ->
           d_step {
             state = FREE; linked = false; counted = false; in_biased = false;
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
#ifdef REVOKE_BEFORE_PUSH
     if
     :: in_biased -> Revoke()
     :: else
     fi;
     skip;
#endif
     d_step { numbers++; number[me] = numbers; pending[me] = true; in_stack[me] = true };
     MAY_DIE;
#if !defined(NO_PUSH_REVOKE) && !defined(REVOKE_BEFORE_PUSH)
     if
     :: in_biased -> Revoke()
     :: else
     fi;
#endif
     MAY_DIE
     /* The worker makes the attempt after the push. */
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
  ((word != NO_PROCESS && dead[word]) || (dead[OWNER] && state != FREE && state != FOREIGN) || (dead[1] && other[1] != FREE) || \
   (dead[OTHERS] && other[OTHERS] != FREE) || (pending[1] && !dead[1]) || \
   (pending[OTHERS] && !dead[OTHERS]))

/* The background worker of a living process: enters the shard, and reaps. */
proctype Worker(byte me) {
  bool is_inside = false, is_taken_over = false;
  byte chosen = 0;
  do
  :: HAS_LEFT_SOMETHING -> Enter(); ReapDead(); ProcessQueue(); Leave()
  :: atomic { entries_left > 0 -> entries_left-- } Enter(); Leave()
  :: running == 0 && !HAS_LEFT_SOMETHING -> break
  od;
gone:
  skip
}

#ifdef READ
/* inspect() and holdersOf(): inside the shard. */
proctype Reader(byte me) {
  bool is_inside = false, is_taken_over = false;
  byte chosen = 0, seen = 0;
  Enter();
#ifndef READ_BIASED
  Settle();
#endif
  if
  :: state == HELD || state == BIASED_HELD ->
     atomic { seen = token; assert(!owner_holds || seen == drawn) };
     if
     :: state == HELD || state == BIASED_HELD -> assert(copy == seen)
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
#ifdef WATCH_REVOKE_FIRST
  if
  :: in_biased -> Revoke()
  :: else
  fi;
  watched = true;
#else
  watched = true;
  if
  :: in_biased -> Revoke()
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
