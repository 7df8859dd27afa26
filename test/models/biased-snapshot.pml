/* A snapshot of two shards beside biased locks (docs/decisions/0025-biased-locks.md,
 * src/core/snapshot.h). An agent acquires the name of shard 0, then the name of shard 1, and releases
 * them in the other order. It uses the biased path if a record is biased. A reader copies each shard
 * inside its lock, and uses the copies if no change counter has moved since.
 *
 * Promised: no snapshot shows the second lock without the first.
 *
 * NO_REVOKE:    the reader copies biased records without revoking them.
 * REVOKE_HELD: the reader revokes only held biased records.
 */
#define ROUNDS 2
#define COPIES 3 /* at most, of both shards */

#define FREE 0
#define HELD 1
#define BIASED_FREE 2
#define BIASED_HELD 3
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
  :: atomic { state[s] == BIASED_FREE -> state[s] = BIASED_HELD }
  :: state[s] == FREE || state[s] == REVOKED -> Visit(s, HELD)
  fi
}

inline Release(s) {
  if
  :: atomic { state[s] == BIASED_HELD -> state[s] = BIASED_FREE }
  :: state[s] == HELD -> Visit(s, FREE)
  :: state[s] == HELD -> Visit(s, BIASED_FREE)
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
#ifndef NO_REVOKE
  do
#ifndef REVOKE_HELD
  :: atomic { state[s] == BIASED_FREE -> state[s] = REVOKED } break
  :: state[s] != BIASED_FREE && state[s] != BIASED_HELD -> break
#else
  :: state[s] != BIASED_HELD -> break
#endif
  :: atomic { state[s] == BIASED_HELD -> state[s] = HELD } break
  od;
#endif
  is_held[s] = (state[s] == HELD || state[s] == BIASED_HELD);
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
