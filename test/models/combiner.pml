/* The duties of a combiner (DeferredEntry, Attachment::FollowCombiner, LockTable::Reap): the holder
 * releases a lock while another process is inside the shard. That process, the combiner, grants the
 * lock to the waiter, leaves the shard, and rings. The waiter sleeps, and watches only the process of
 * the holder. The holder and the combiner may both die, each at any point.
 *
 * Promised: the waiter is notified. Nothing else wakes it; no waiter stays asleep (an invalid end).
 *
 * NO_FOLLOW:       the holder does not watch the combiner of its operation.
 * ONLY_AFTER_PUSH: the holder does so only after the push, not at the end of its deferred entry.
 * SLOT_AFTER_MARK: the combiner stores its slot after it marked the operation as done.
 * MARK_FIRST:      the combiner marks the operation as done before it executes it.
 * NO_WATCH:        the waiter does not watch the holder.
 * NO_RESCAN:       the reaper of the combiner wakes others only if the combiner left a shard locked.
 */
#define HOLDER 0
#define COMBINER 1
#define WAITER 2
#define NONE 255

#define FREE 0
#define PENDING 1
#define DONE 2

byte owner = COMBINER; /* the combiner is inside for another operation */
bool dead[3];
bool is_over = false; /* the combiner has left the shard for good, and has rung */
byte deaths_left = 2;

bool is_held = true;
bool is_granted = false; /* to the waiter */

byte state = FREE;
byte slot = NONE; /* of the process that has executed the operation */
bool is_rung = false;

#define MAY_DIE \
  if \
  :: atomic { me != WAITER && deaths_left > 0 -> deaths_left--; dead[me] = true; goto gone } \
  :: skip \
  fi

/* The next waiter is noted when it is granted, and rung after the unlock. */
inline Grant() {
  if
  :: !is_held && !is_granted -> is_granted = true; owes = true
  :: else
  fi
}

inline Execute() {
  if
  :: state == PENDING ->
#ifdef MARK_FIRST
     slot = me;
     state = DONE;
     MAY_DIE;
#endif
     is_held = false;
     MAY_DIE;
     Grant();
     MAY_DIE;
#ifdef SLOT_AFTER_MARK
     state = DONE;
     MAY_DIE;
     slot = me
#endif
#if !defined(SLOT_AFTER_MARK) && !defined(MARK_FIRST)
     slot = me;
     state = DONE
#endif
  :: else
  fi;
  MAY_DIE
}

/* A repair grants what can be granted, and wakes all agents after the unlock. */
inline Settle() {
  if
  :: is_taken_over -> Grant(); owes = true; MAY_DIE; is_taken_over = false
  :: else
  fi;
  Execute()
}

#define TRY_LOCK atomic { owner == NONE -> owner = me }
#define TAKE_OVER atomic { owner != NONE && dead[owner] -> owner = me; is_taken_over = true }
#define IS_TAKEN (owner != NONE && !dead[owner])

/* Checks the publication list again, and rings when it is outside. */
inline Leave() {
  do
  :: owner = NONE;
     MAY_DIE;
     if
     :: state != PENDING -> break
     :: else ->
        if
        :: TRY_LOCK
        :: TAKE_OVER
        :: IS_TAKEN -> break
        fi;
        Settle()
     fi
  od;
  if
  :: owes -> is_rung = true; owes = false; MAY_DIE
  :: else
  fi
}

/* The combiner is dead: its reaper enters a locked shard, and wakes all agents. */
inline ReapExecutor() {
  if
  :: owner != NONE ->
     if
     :: TRY_LOCK
     :: TAKE_OVER
     fi;
     Settle();
     Leave();
#ifdef NO_RESCAN
     is_rung = true
#endif
  :: else
  fi;
  MAY_DIE;
#ifndef NO_RESCAN
  is_rung = true
#endif
}

/* The waiter enters only a shard in which the holder may have left records, and reads its own state
 * at the end. */
inline ReapHolder() {
  if
  :: state == PENDING || owner != NONE || is_held ->
     if
     :: TRY_LOCK
     :: TAKE_OVER
     fi;
     Settle();
     is_held = false;
     Grant();
     Leave()
  :: else
  fi;
  is_rung = true
}

inline Follow() {
  if
#ifndef NO_FOLLOW
  :: slot == COMBINER ->
     if
     :: dead[COMBINER] -> ReapExecutor()
     :: is_over
     fi
#endif
  :: else
  fi
}

active proctype Holder() {
  byte me = HOLDER;
  bool is_taken_over = false, owes = false;
  MAY_DIE;
  state = PENDING; /* and pushed */
  MAY_DIE;
  if
  :: TRY_LOCK -> Settle(); Leave()
  :: TAKE_OVER -> Settle(); Leave()
  :: IS_TAKEN
  fi;
  if
  :: state != PENDING -> Follow()
  :: else ->
     do
     :: state != PENDING -> break
     :: TRY_LOCK -> Settle(); Leave()
     :: TAKE_OVER -> Settle(); Leave()
     od;
#ifndef ONLY_AFTER_PUSH
     Follow()
#endif
  fi;
gone:
  skip
}

active proctype Executor() {
  byte me = COMBINER;
  bool is_taken_over = false, owes = false;
  Settle();
  Leave();
  is_over = true;
gone:
  skip
}

active proctype Waiter() {
  byte me = WAITER;
  bool is_taken_over = false, owes = false;
  do
  :: is_granted -> break /* the waiter reads its state when it is awake */
  :: else ->
asleep:
     if
     :: is_rung -> is_rung = false
#ifndef NO_WATCH
     :: dead[HOLDER] -> ReapHolder()
#endif
     fi
  od;
gone:
  skip
}
