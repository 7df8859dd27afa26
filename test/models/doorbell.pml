/* A grant and the doorbell (src/core/wake_queue.cc, Agent::GoToSleep): two processes that bring
 * events, one of which may die at any point, and an agent that sleeps when it finds no events.
 *
 * Promised: at rest the agent has read all events that a living process stored, and does not sleep on
 * them. A reaper finds the events for which a dead process did not ring. The reaper is not modelled: a
 * dead process's own events may stay, but they may not keep the other's events from being read.
 *
 * RING_BEFORE_STORE: the doorbell is rung first, the events are stored afterwards. Known to be wrong.
 * CHECK_BEFORE_SLEEP: the agent checks first, and marks itself as sleeping then. Known to be wrong.
 * TAKE_MARK_FIRST:   the sleeper's mark is removed, and the doorbell rung then. Wrong if the remover
 *                    dies in between.
 * SLEEPS_ALIKE:      sleeps have no numbers: a ring counts for a later sleep. Wrong.
 * DRAIN_LATE:        the doorbell is drained after the check. Wrong: it may have rung for this sleep.
 */
#define BRINGERS 2
#define EVENTS_EACH 2

byte stored = 0;      /* events in the table */
byte read = 0;        /* events that the agent has read */
byte owed = 0;        /* events of the living */
byte sleeping = 0;    /* the number of the sleep; 0: awake */
bool rung_mark = false;
bool doorbell = false;
bool is_blocked = false;
byte done = 0;
byte deaths_left = 1;

#define MAY_DIE if :: atomic { deaths_left > 0 -> deaths_left--; is_dead = true } goto gone :: skip fi

inline ring() { doorbell = true }

inline notify() {
#ifdef TAKE_MARK_FIRST
  atomic { seen = sleeping; sleeping = 0 };
  if
  :: seen != 0 -> MAY_DIE; ring()
  :: else
  fi
#else
  atomic { seen = sleeping; seen_mark = rung_mark };
  if
  :: seen != 0 && !seen_mark ->
     MAY_DIE;
     ring();
     MAY_DIE;
     /* Compare-and-swap: only this sleep. */
     atomic { if :: sleeping == seen && !rung_mark -> rung_mark = true :: else fi }
  :: else
  fi
#endif
}

active [BRINGERS] proctype Bringer() {
  byte seen;
  bool seen_mark;
  bool is_dead = false;
  byte mine = 0;
  byte i = 0;
  do
  :: i == EVENTS_EACH -> break
  :: else ->
     i++;
#ifdef RING_BEFORE_STORE
     notify();
     atomic { stored++; mine = stored };
#else
     atomic { stored++; mine = stored };
     MAY_DIE;
     notify();
#endif
  od;
gone:
  atomic { done++; if :: !is_dead && mine > owed -> owed = mine :: else fi }
}

/* The loop of the agent. It ends when all others have ended and it has read all owed events. */
active proctype Agent() {
  byte sleep = 0;
  bool has_news;
  bool is_rung = false; /* and not drained since */
end:
  do
  :: read = stored;
#ifdef CHECK_BEFORE_SLEEP
     has_news = (read != stored);
#endif
#ifdef SLEEPS_ALIKE
     sleep = 1;
#else
     sleep++;
#endif
#ifndef DRAIN_LATE
     if :: is_rung -> doorbell = false; is_rung = false :: else fi;
#endif
     atomic { sleeping = sleep; rung_mark = false };
#ifndef CHECK_BEFORE_SLEEP
     has_news = (read != stored);
#endif
#ifdef DRAIN_LATE
     if :: is_rung -> doorbell = false; is_rung = false :: else fi;
#endif
     if
     :: !has_news ->
        is_blocked = true;
end_asleep:
        atomic { doorbell -> is_blocked = false; is_rung = true }
     :: else
     fi;
     sleeping = 0
  od
}

/* Asleep for good, with events of a process that lives to the end: forgotten. */
active proctype Watchdog() {
  atomic { done == BRINGERS && is_blocked && !doorbell -> assert(read >= owed) }
}
