/* The publication list of a shard (docs/flat-combining.md, src/segment/publication_list.h): agents
 * that find the shard locked push their operation onto a stack and return. One of them may die at any
 * point.
 *
 * Every agent makes requests. It tries the lock and, inside, executes the stack before its own
 * operation. Otherwise it writes the operation into its cell, draws a number, pushes the cell, tries
 * the lock once more, and returns. After unlocking, a process checks the stack again. A background
 * worker of each process enters the shard after a push.
 *
 * Promised: an operation of a living agent is executed exactly once. An operation that began after
 * another request had returned is executed after it. No cell is reused while it may still be linked.
 * No agent waits: request() has no blocking statement.
 *
 * TWICE: two agents, of which one uses its cell a second time.
 *
 * ENTRY: the worker also enters once for work of another kind (minutes, not seconds).
 *
 * NO_RECHECK:      after unlocking, a process does not check again, and there is no worker and no
 *                  death: an operation that was pushed meanwhile is never executed.
 * NO_WORKER:       no worker enters: an operation behind an owner that died is never executed.
 * OWN_FIRST:       a process inside executes its own operation before the stack.
 * STACK_ORDER:     the stack is executed as it is linked, newest first.
 * BY_CELL:         a repair executes the found operations in the order of the cells.
 * NO_LIMIT:        a repair executes found operations of any number.
 * NO_DOUBLE_CHECK: a repair does not check whether the operation was executed already.
 * REUSE_EXECUTED:  an agent reuses a cell that a repair has executed, without entering the shard.
 */
#ifdef TWICE
#define AGENTS 2
#define ROUNDS(agent) (1 + (agent)) /* agent 1 uses its cell a second time */
#else
#define AGENTS 3
#define ROUNDS(agent) 1
#endif
#define WORKER AGENTS /* the process of all workers; it does not die */
#define REQUESTS 3
#define NONE 255

#define FREE 0
#define PENDING 1
#define EXECUTED 2 /* by a repair; the cell may still be linked, or be linked later */
#define DONE 3     /* taken from the stack */

#define IS_AWAITED(agent) (state[agent] == PENDING && !dead[agent])
#ifdef NO_LIMIT
#define IS_WITHIN(a, b) true
#else
#define IS_WITHIN(a, b) (a <= b)
#endif
#ifdef BY_CELL
#define IS_BEFORE(a, b) false
#else
#define IS_BEFORE(a, b) (number[a] < number[b])
#endif

byte owner = NONE;
bool dead[AGENTS + 1];
#if defined(NO_RECHECK)
byte deaths_left = 0;
#else
byte deaths_left = 1;
#endif

byte head = NONE; /* of the stack */
byte numbers = 0; /* the newest */
byte state[AGENTS];
byte link[AGENTS];
byte number[AGENTS];
byte request[AGENTS]; /* the request in the cell */
bool is_linked[AGENTS]; /* in the stack, or in a part that was taken from it; for assertions */

/* The table: the executed requests. It survives a crash. */
bool executed[REQUESTS];
bool returned[REQUESTS];
bool is_after[REQUESTS * REQUESTS]; /* [a * REQUESTS + b]: a began after b had returned */
byte owner_of[REQUESTS];

byte running = AGENTS;
#if defined(ENTRY) || defined(NO_LIMIT)
byte entries_left = 1; /* of the worker, for work of another kind */
#else
byte entries_left = 0;
#endif

/* The private memory of the process inside: lost with it. */
byte chain = NONE, taken = NONE, next = NONE, scan = 0, best = NONE, limit = 0;
bool found[AGENTS];
hidden byte i; /* within one step */

#define MAY_DIE \
  if \
  :: atomic { me < AGENTS && deaths_left > 0 -> deaths_left--; dead[me] = true; goto gone } \
  :: skip \
  fi

inline Execute(r) {
  d_step {
    assert(!executed[r]);
    i = 0;
    do
    :: i < REQUESTS ->
       assert(!(is_after[r * REQUESTS + i] && !executed[i] && !dead[owner_of[i]]));
       i++
    :: else -> break
    od;
    executed[r] = true;
    i = 0
  }
}

/* Takes the whole stack and executes it, oldest first. */
inline Drain() {
  do
  :: head == NONE -> break
  :: else ->
     atomic { chain = head; head = NONE };
#ifdef STACK_ORDER
     taken = chain;
#else
     d_step {
       taken = NONE;
       do
       :: chain != NONE -> next = link[chain]; link[chain] = taken; taken = chain; chain = next
       :: else -> break
       od;
       next = NONE; chain = NONE
     };
#endif
     do
     :: taken == NONE -> break
     :: else ->
        next = link[taken];
        MAY_DIE;
        if
        :: state[taken] == PENDING -> Execute(request[taken]); MAY_DIE
        :: else
        fi;
        d_step {
          is_linked[taken] = false;
          assert(state[taken] != FREE);
          state[taken] = DONE;
          taken = next; next = NONE
        }
     od
  od
}

/* Discards the stack and searches the cells for the operations. */
inline Repair() {
  d_step {
    head = NONE;
    do
    :: scan < AGENTS -> is_linked[scan] = false; scan++
    :: else -> break
    od;
    scan = 0
  };
  limit = numbers;
  do
  :: scan < AGENTS ->
     d_step {
       found[scan] = IS_AWAITED(scan) && IS_WITHIN(number[scan], limit);
       scan++
     }
  :: else -> break
  od;
  do
  :: d_step {
       best = NONE; scan = 0;
       do
       :: scan < AGENTS ->
          if
          :: found[scan] && (best == NONE || IS_BEFORE(scan, best)) -> best = scan
          :: else
          fi;
          scan++
       :: else -> break
       od;
       scan = 0
     };
     if
     :: best == NONE -> break
     :: else ->
        found[best] = false;
        MAY_DIE;
        if
#ifndef NO_DOUBLE_CHECK
        :: executed[request[best]] -> skip
        :: !executed[request[best]] -> Execute(request[best])
#else
        :: Execute(request[best])
#endif
        fi;
        MAY_DIE;
        state[best] = EXECUTED
     fi
  od;
  best = NONE;
  MAY_DIE
}

/* The end inside: the shard is repaired, and the stack is empty. */
inline Settle() {
  if
  :: is_taken_over -> Repair(); is_taken_over = false
  :: else
  fi;
  Drain()
}

#define TRY_LOCK(yes) atomic { owner == NONE -> owner = me; yes = true }
#define TAKE_OVER(yes) \
  atomic { \
    owner != NONE && dead[owner] -> \
    owner = me; yes = true; is_taken_over = true; \
    chain = NONE; taken = NONE; next = NONE; scan = 0; best = NONE; limit = 0; \
    found[0] = false; found[1] = false; found[AGENTS - 1] = false \
  }
#define IS_TAKEN (owner != NONE && !dead[owner])

inline Unlock() {
  do
  :: MAY_DIE;
     owner = NONE;
     is_inside = false;
#ifdef NO_RECHECK
     break
#else
     if
     :: head == NONE -> break
     :: else ->
        if
        :: TRY_LOCK(is_inside)
        :: TAKE_OVER(is_inside)
        :: IS_TAKEN -> break
        fi;
        Settle()
     fi
#endif
  od
}

proctype Agent(byte me) {
  byte seen, r;
  bool is_inside = false, is_taken_over = false;
  byte round = 0;

  do
  :: round < ROUNDS(me) ->
     r = (round == 0 -> me : AGENTS);
     d_step {
       owner_of[r] = me;
       i = 0;
       do
       :: i < REQUESTS -> is_after[r * REQUESTS + i] = returned[i]; i++
       :: else -> break
       od;
       i = 0
     };
     if
     :: TRY_LOCK(is_inside)
     :: TAKE_OVER(is_inside)
     :: IS_TAKEN
     fi;
     if
     :: is_inside ->
#ifdef OWN_FIRST
        if
        :: is_taken_over -> Settle()
        :: else
        fi;
        Execute(r);
        Settle();
#else
        Settle();
        Execute(r);
#endif
        Unlock();
        returned[r] = true
     :: else ->
        /* The cell belongs to this agent, and is free. */
        atomic { assert(!is_linked[me]); request[me] = r };
        atomic { numbers++; number[me] = numbers };
        state[me] = PENDING;
        do
        :: seen = head; link[me] = seen;
           if
           :: atomic { head == seen -> head = me; is_linked[me] = true }
              break
           :: head != seen
           fi
        od;
        seen = 0;
        if
        :: TRY_LOCK(is_inside)
        :: TAKE_OVER(is_inside)
        :: IS_TAKEN
        fi;
        if
        :: is_inside -> Settle(); Unlock()
        :: else
        fi;
        returned[r] = true;
        /* After request(): the answer, for which the next use of the cell waits. */
        if
        :: state[me] == DONE
        :: state[me] == EXECUTED ->
#ifndef REUSE_EXECUTED
           do
           :: state[me] == DONE -> break
           :: TRY_LOCK(is_inside) -> Settle(); Unlock(); break
           :: TAKE_OVER(is_inside) -> Settle(); Unlock(); break
           od
#else
           skip
#endif
        fi;
        atomic { state[me] == DONE || state[me] == EXECUTED -> assert(!is_linked[me]); state[me] = FREE }
     fi;
     round++
  :: else -> break
  od;
gone:
  running--
}

#ifdef TWICE
#define IS_ANY_AWAITED (IS_AWAITED(0) || IS_AWAITED(1))
#else
#define IS_ANY_AWAITED (IS_AWAITED(0) || IS_AWAITED(1) || IS_AWAITED(2))
#endif

/* Enters the shard as long as an operation of a living agent is pending. */
proctype Worker(byte me) {
  bool is_inside = false, is_taken_over = false;
  do
  :: IS_ANY_AWAITED ->
     if
     :: TRY_LOCK(is_inside) -> Settle(); Unlock()
     :: TAKE_OVER(is_inside) -> Settle(); Unlock()
     :: !IS_ANY_AWAITED
     fi
  :: atomic { entries_left > 0 -> entries_left-- }
     if
     :: TRY_LOCK(is_inside) -> Settle(); Unlock()
     :: TAKE_OVER(is_inside) -> Settle(); Unlock()
     :: IS_TAKEN
     fi
  :: running == 0 -> break
  od;
gone:
  skip
}

init {
  atomic {
    run Agent(0);
    run Agent(1);
#ifndef TWICE
    run Agent(2);
#endif
#if !defined(NO_WORKER) && !defined(NO_RECHECK)
    run Worker(WORKER)
#endif
  }
}
