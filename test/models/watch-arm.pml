/* Watchers that have read everything, and the writer of the next event (src/segment/watch_ring.h,
 * WakeQueue::RingWatchers, AgentWrap::ArmWatch): two writers, one of which may die at any point, and
 * two watchers that share one word. A watcher reads again only when its mark is gone.
 *
 * Promised: at rest no watcher sleeps on an event in the ring. doorbell.pml models the mark of a sleep
 * and its doorbell; here a ring that finds a sleeper wakes it.
 *
 * READ_BEFORE_ARM: the watcher reads first, and arms then. Known to be wrong.
 * TAKE_BEFORE_WRITE: the writer takes the word first, and writes then. Wrong.
 * LAST_ONE_ARMED:  the word names the last watcher that armed, not that there are several. Wrong.
 * NO_FINDER:       no process rings for a writer that took the word and died. Wrong.
 * NO_LAST_CHECK:    the watcher does not check whether its ring came before its mark of the sleep.
 *                  Wrong.
 */
#define WRITERS 2
#define EVENTS_EACH 1
#define WATCHERS 2
#define ALL 3 /* both are armed */

byte written = 0;
byte armed = 0; /* 0, 1 + the watcher, or ALL */
byte seen_by[WATCHERS];
bool is_asleep[WATCHERS];
bool doorbell[WATCHERS];
bool is_blocked[WATCHERS];
byte done = 0;
byte deaths_left = 1;
byte to_reap = 0;

#define MAY_DIE if :: atomic { deaths_left > 0 -> deaths_left-- } goto dead :: skip fi

/* Only a watcher that has marked its sleep. */
inline ring(i) { if :: is_asleep[i] -> doorbell[i] = true :: else fi }

inline ring_taken() {
  atomic { taken = armed; armed = 0 }
}

inline notify() {
  if
  :: armed == 0
  :: else ->
     ring_taken();
     MAY_DIE;
     if
     :: taken == 1 || taken == ALL -> ring(0)
     :: else
     fi;
     MAY_DIE;
     if
     :: taken == 2 || taken == ALL -> ring(1)
     :: else
     fi;
     taken = 0
  fi
}

active [WRITERS] proctype Writer() {
  byte taken = 0;
  byte i = 0;
  do
  :: i == EVENTS_EACH -> break
  :: else ->
     i++;
#ifdef TAKE_BEFORE_WRITE
     notify();
     written++
#else
     written++;
     MAY_DIE;
     notify()
#endif
  od;
  goto gone;
dead:
  to_reap++;
gone:
  done++
}

/* The reaper of a dead writer takes the word for it, and rings all watchers, also those without a
 * mark. */
active proctype DeathFinder() {
end:
  do
  :: to_reap > 0 ->
#ifndef NO_FINDER
     armed = 0;
     doorbell[0] = true;
     doorbell[1] = true;
#endif
     to_reap--
  od
}

#define is_armed (armed == me + 1 || armed == ALL)

inline arm() {
#ifdef LAST_ONE_ARMED
  armed = me + 1
#else
  atomic { if :: armed == 0 || armed == me + 1 -> armed = me + 1 :: else -> armed = ALL fi }
#endif
}

active [WATCHERS] proctype Watcher() {
  byte me = _pid - WRITERS - 1;
end:
  do
  :: seen_by[me] = written;
#ifdef READ_BEFORE_ARM
     if :: seen_by[me] != written -> goto again :: else fi;
     arm();
#else
     arm();
     if :: seen_by[me] != written -> goto again :: else fi;
#endif
asleep:
     is_asleep[me] = true;
#ifndef NO_LAST_CHECK
     if :: !is_armed -> goto awake :: else fi;
#endif
     is_blocked[me] = true;
end_asleep:
     atomic { doorbell[me] -> doorbell[me] = false; is_blocked[me] = false };
awake:
     is_asleep[me] = false;
     if :: is_armed -> goto asleep :: else fi; /* rung for another reason */
again:
     skip
  od
}

#define is_deaf(i) (is_blocked[i] && !doorbell[i] && seen_by[i] != written)

/* Asleep for good, with events in the ring. */
active proctype Watchdog() {
end:
  atomic { done == WRITERS && to_reap == 0 && (is_deaf(0) || is_deaf(1)) -> assert(false) }
}
