/* The word of a shard lock (src/segment/lock_word.cc): contenders, one of which may die at any point
 * after it has acquired the lock, also between the store that unlocks and the wake-up that follows.
 *
 * Promised: at most one living contender is inside; each living contender gets in.
 *
 * UNBOUNDED_SLEEP: a sleeper relies on a wake-up. Known to be wrong: a dead process wakes no sleeper.
 * NO_WAITERS_BIT:  a contender that has slept takes the word without the bit. Harmless with bounded
 *                  sleeps (the next contender sleeps to the end of its slice), wrong with
 *                  UNBOUNDED_SLEEP.
 * BREAK_LIVING:    the end of a slice counts as a death. Known to be wrong.
 */
#define CONTENDERS 3
#define NO_PROCESS 255

byte owner = NO_PROCESS;
bool waiters = false;
bool dead[CONTENDERS];
bool asleep[CONTENDERS];
byte inside = 0;      /* living contenders in the section */
byte deaths_left = 1;

/* Taken over from a dead owner by compare-and-swap, which alone decides the new owner. */
#define IS_TAKEABLE (owner == NO_PROCESS || dead[owner])

active [CONTENDERS] proctype Contender() {
  byte id = _pid;
  bool has_slept = false;

  do
  :: atomic {
       IS_TAKEABLE ->
       owner = id;
#ifdef NO_WAITERS_BIT
       waiters = false;
#else
       waiters = has_slept || waiters;
#endif
       inside++;
       assert(inside == 1)
     }
     break
#ifdef BREAK_LIVING
  :: atomic { has_slept && owner != NO_PROCESS -> owner = id; inside++; assert(inside == 1) } break
#endif
  :: atomic { !IS_TAKEABLE -> waiters = true; asleep[id] = true }
     has_slept = true;
#ifdef UNBOUNDED_SLEEP
     !asleep[id]
#else
     /* Woken, or the slice is over: the word is read again. */
     if
     :: !asleep[id]
     :: asleep[id] = false
     fi
#endif
  od;

  if
  :: atomic { deaths_left > 0 -> deaths_left--; dead[id] = true; inside-- } goto gone
  :: skip
  fi;

  bool owes_wake;
  atomic { owes_wake = waiters; owner = NO_PROCESS; waiters = false; inside-- };
  if
  :: atomic { deaths_left > 0 -> deaths_left--; dead[id] = true } goto gone
  :: skip
  fi;
  if
  :: owes_wake ->
     atomic {
       /* One sleeper, any. */
       if
       :: asleep[0] -> asleep[0] = false
       :: asleep[1] -> asleep[1] = false
       :: asleep[2] -> asleep[2] = false
       :: !asleep[0] && !asleep[1] && !asleep[2]
       fi
     }
  :: else
  fi;
gone:
  skip
}

/* Spin reports an invalid end state (a sleeper that is never woken) as a deadlock. */
