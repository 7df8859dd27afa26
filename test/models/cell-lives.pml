/* The lives of an operation's cell (src/segment/publication_list.cc, LockTable::Reap): process D has
 * died, and left an operation pending in the cell. Once D has been reaped, process N may claim the
 * cell and publish an operation in it. A repair searches for operations by their numbers, then executes
 * them.
 *
 * Process M publishes an operation, too, in another cell. Two processes enter the shard, with or
 * without a repair. Two processes reap D: each passes the shard, ends the agent of D, waits for the
 * processes inside, and then marks D as cleaned; one of the two may die at any point.
 *
 * Promised: the operations of M and N are executed exactly once; N's after M's, if M's request had
 * returned before N's began; no cell is executed that is not pending.
 *
 * BY_CELL:        a repair executes any operation that is pending in the cell by then.
 * NO_AGENT_CHECK: a repair does not check whether the agent is there.
 * AGENT_LAST:     a repair reads the agent after the rest.
 * NO_WAIT:        a reaper does not wait for the processes inside.
 * CHECK_ONCE:      a reaper checks which processes are inside when it begins, and not when the other
 *                 reaper has ended the agent meanwhile.
 */
#define D 0
#define M 1
#define N 2
#define NONE 255

#define FREE 0
#define PENDING 1
#define DONE 2

bool is_locked = false;
bool is_there[3] = { true, true, true }; /* the agents */
bool is_cleaned = false;                 /* D */
bool may_die = true;                     /* a reaper */

byte numbers = 1; /* D drew the first */
byte agent[2] = { D, M }; /* of each cell */
byte number[2] = { 1, 0 };
byte state[2] = { PENDING, FREE };
#define SHARED 0 /* the cell of D, then of N */
#define OWN 1    /* the cell of M */

byte stack[2] = { NONE, NONE }; /* cells, the oldest first; NONE: the stack has fewer */

bool is_executed[3];
byte running = 6; /* processes */
bool has_returned = false;  /* M's request */
bool is_after = false;   /* N's request began afterwards */

inline Execute(cell) {
  d_step {
    assert(state[cell] == PENDING);
    if
    :: agent[cell] == D /* of a dead process: only marked */
    :: else ->
       assert(!is_executed[agent[cell]]);
       assert(!(agent[cell] == N && is_after && !is_executed[M]));
       is_executed[agent[cell]] = true
    fi;
    state[cell] = DONE
  }
}

inline Drain() {
  do
  :: atomic {
       stack[0] != NONE ->
       taken = stack[0]; stack[0] = stack[1]; stack[1] = NONE
     };
     atomic {
       if
       :: state[taken] == PENDING -> Execute(taken)
       :: else
       fi;
       taken = 0
     }
  :: stack[0] == NONE -> break
  od
}

/* The reads of segment::PendingOperation(), one after the other. */
inline Check(cell) {
  is_it = true;
#if !defined(NO_AGENT_CHECK) && !defined(AGENT_LAST)
  is_it = is_it && is_there[agent[cell]];
#endif
#ifndef BY_CELL
  is_it = is_it && number[cell] == found[cell];
#endif
  is_it = is_it && state[cell] == PENDING;
#ifndef BY_CELL
  is_it = is_it && number[cell] == found[cell];
#endif
#ifdef AGENT_LAST
  is_it = is_it && is_there[agent[cell]];
#endif
}

inline Repair() {
  atomic { stack[0] = NONE; stack[1] = NONE };
  limit = numbers;
  d_step { found[0] = (state[0] == PENDING && number[0] <= limit -> number[0] : 0) };
  d_step { found[1] = (state[1] == PENDING && number[1] <= limit -> number[1] : 0); limit = 0 };
  do
  :: d_step {
       cell = (found[0] != 0 && (found[1] == 0 || found[0] < found[1]) -> 0 : 1)
     };
     if
     :: found[cell] == 0 -> break
     :: else ->
        Check(cell);
        atomic {
          if
          :: is_it -> Execute(cell)
          :: else
          fi;
          found[cell] = 0;
          is_it = false;
          cell = 0
        }
     fi
  od
}

#define TRY_LOCK atomic { !is_locked -> is_locked = true }

/* After unlocking, a process checks the stack again. */
inline Unlock() {
  do
  :: is_locked = false;
     if
     :: stack[0] == NONE -> break
     :: else ->
        if
        :: TRY_LOCK; Drain()
        :: is_locked -> break
        fi
     fi
  od
}

inline Push(cell) {
  if
  :: atomic { stack[0] == NONE -> stack[0] = cell }
  :: atomic { stack[0] != NONE -> stack[1] = cell }
  fi;
  if
  :: TRY_LOCK; Drain(); Unlock()
  :: is_locked
  fi
}

proctype Visitor() {
  byte taken, cell = 0, limit = 0;
  byte found[2];
  bool is_it = false;
  TRY_LOCK;
  if
  :: Repair()
  :: skip
  fi;
  Drain();
  Unlock();
  running--
}

proctype RequestsFirst() {
  byte taken;
  atomic { numbers++; number[OWN] = numbers };
  state[OWN] = PENDING;
  Push(OWN);
  has_returned = true;
  running--
}

proctype Claims() {
  byte taken;
  is_cleaned;
  is_after = has_returned;
  state[SHARED] = FREE;
  agent[SHARED] = N;
  atomic { numbers++; number[SHARED] = numbers };
  state[SHARED] = PENDING;
  Push(SHARED);
  running--
}

proctype DeathFinder() {
  bool is_first = true, was_busy = false, is_busy = false, is_waiting = false;
  do
  :: if
     :: is_there[D] && !is_locked -> /* the shard is passed; here the reaper passes the others */
        if
        :: atomic { may_die -> may_die = false; break }
        :: is_there[D] = false
        fi
     :: is_there[D] && is_locked -> is_busy = true
     :: !is_there[D]
     fi;
     atomic {
       if
#if defined(CHECK_ONCE)
       :: is_first -> is_waiting = is_locked
#elif !defined(NO_WAIT)
       :: is_first || (was_busy && !is_busy) -> is_waiting = is_waiting || is_locked
#endif
       :: else
       fi;
       is_first = false;
       was_busy = is_busy;
       is_busy = false
     };
     atomic {
       is_waiting = is_waiting && is_locked; /* once the shard is free, the processes inside have left */
       if
       :: !was_busy && !is_waiting -> is_cleaned = true; break
       :: else
       fi
     }
  od;
  running--
}

init {
  atomic {
    run RequestsFirst();
    run Claims();
    run Visitor();
    run Visitor();
    run DeathFinder();
    run DeathFinder()
  };
  running == 0;
  assert(is_executed[M] && is_executed[N])
}
