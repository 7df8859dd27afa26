/* A snapshot of two shards beside the short way (docs/decisions/0025-biased-locks.md,
 * src/core/snapshot.h). An agent takes the name of shard 0, then that of shard 1, and gives them
 * back in the other order, by the short way whenever a record is kept. A reader copies each shard
 * inside its lock, and believes the copies if no change counter has moved since.
 *
 * Promised: no snapshot shows the second lock without the first one.
 *
 * NO_CLOSE:    the reader copies open records as they are.
 * CLOSE_TAKEN: it closes only those that are taken.
 */
#define ROUNDS 2
#define COPIES 3 /* at most, of both shards */

#define FREE 0
#define HELD 1
#define KEPT 2
#define TAKEN 3
#define REVOKED 4

byte state[2] = { FREE, FREE };
byte changes[2];
bool locked[2];

inline Visit(s, next) {
  atomic { !locked[s] -> locked[s] = true };
  changes[s]++;
  state[s] = next;
  locked[s] = false
}

inline Acquire(s) {
  if
  :: atomic { state[s] == KEPT -> state[s] = TAKEN }
  :: state[s] == FREE || state[s] == REVOKED -> Visit(s, HELD)
  fi
}

inline Release(s) {
  if
  :: atomic { state[s] == TAKEN -> state[s] = KEPT }
  :: state[s] == HELD -> Visit(s, FREE)
  :: state[s] == HELD -> Visit(s, KEPT)
  fi
}

active proctype Agent() {
  byte round = 0;
  do
  :: round < ROUNDS ->
     Acquire(0);
     Acquire(1);
     Release(1);
     Release(0);
     round++
  :: else -> break
  od
}

inline Copy(s) {
  atomic { !locked[s] -> locked[s] = true };
#ifndef NO_CLOSE
  do
#ifndef CLOSE_TAKEN
  :: atomic { state[s] == KEPT -> state[s] = REVOKED } break
  :: state[s] != KEPT && state[s] != TAKEN -> break
#else
  :: state[s] != TAKEN -> break
#endif
  :: atomic { state[s] == TAKEN -> state[s] = HELD } break
  od;
#endif
  is_held[s] = (state[s] == HELD || state[s] == TAKEN);
  counted[s] = changes[s];
  locked[s] = false
}

active proctype Reader() {
  bool is_held[2];
  byte counted[2];
  byte copies = 0;
  bool is_same;
  do
  :: copies < COPIES ->
     Copy(0);
     Copy(1);
     is_same = (changes[0] == counted[0]);
     is_same = is_same && (changes[1] == counted[1]);
     if
     :: is_same -> assert(!(is_held[1] && !is_held[0])); break
     :: else -> copies++
     fi
  :: else -> break
  od
}
