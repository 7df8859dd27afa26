/* Which process is the broker of a bucket (lib/backends/broker/server/election.js): candidates start
 * at any time, may be slow for any time between two steps, and may die before each of them. A claim is
 * a file that names the candidate's socket; its creation is exclusive.
 *
 * Promised: at most one living candidate serves.
 *
 * CLAIM_BEFORE_LISTEN: the claim is made first, so a claim may name a socket on which no candidate
 *                      listens yet. Known to be wrong: a slow candidate is considered dead.
 * NO_SECOND_CHECK:      a candidate that has made a claim does not check whether there is a higher
 *                      claim. Known to be wrong: claims below the highest are removed, and can be
 *                      made again.
 * NO_SOCKET_CHECK:     a candidate that has made a claim does not check whether its socket still has
 *                      its name. Known to be wrong: a broker that has died since has removed the
 *                      socket as a stale file, so others consider this candidate dead.
 * PIPES:               sockets are no files, and their names end with them, as on Windows. Holds.
 * REMOVE_AT_EXIT:      a broker that ends in order removes its own claim. Known to be wrong: the
 *                      numbers start again, and a slow candidate still has an old number in mind.
 */
#define CANDIDATES 4
#define CLAIMS 6

byte owner[CLAIMS];     /* of each claim: candidate + 1; 0: there is no such file */
bool listens[CANDIDATES];
bool is_named[CANDIDATES];  /* the socket has its name: without it no connection is made */
byte serving = 0;
byte deaths_left = 3;

inline maybe_die() {
  if
  :: atomic { deaths_left > 0 -> deaths_left--; listens[me] = false }; goto gone
  :: skip
  fi
}

/* One reading of the directory: it finds the files that exist all the time. */
inline find_highest() {
  d_step {
    highest = 0;
    i = 1;
    do
    :: i < CLAIMS -> if :: owner[i] != 0 -> highest = i :: else fi; i++
    :: else -> break
    od;
    i = 0
  }
}

proctype Candidate(byte me) {
  byte highest = 0;
  byte mine = 0;
  byte other = 0;
  byte i = 0;
  /* A socket has its name before it listens. */
  is_named[me] = true;
#ifndef CLAIM_BEFORE_LISTEN
  listens[me] = true;
#endif
  maybe_die();
  find_highest();
  if
  :: highest + 1 >= CLAIMS -> goto leave
  :: highest > 0 && highest + 1 < CLAIMS ->
     other = owner[highest];
     if
     :: other == 0 -> goto leave             /* removed meanwhile: there is a higher one */
     :: else
     fi;
     if
     :: listens[other - 1] && is_named[other - 1] -> goto leave     /* the broker lives */
     :: else
     fi
  :: else
  fi;
  maybe_die();
  mine = highest + 1;
  atomic {
    if
    :: owner[mine] != 0 -> goto leave
    :: else -> owner[mine] = me + 1
    fi
  };
  maybe_die();
#ifdef CLAIM_BEFORE_LISTEN
  listens[me] = true;
#endif
#ifndef NO_SECOND_CHECK
  find_highest();
  if
  :: highest != mine -> owner[mine] = 0; goto leave
  :: else
  fi;
#endif
#ifndef NO_SOCKET_CHECK
  if
  :: !is_named[me] -> goto leave
  :: else
  fi;
#endif
  atomic { serving++; assert(serving == 1) };
  /* Removes stale files: the names of all other sockets, and the lower claims. */
  i = 0;
  do
  :: i < CANDIDATES ->
     if
     :: atomic { deaths_left > 0 -> deaths_left--; listens[me] = false; serving-- }; goto gone
#ifdef PIPES
     :: i != me -> skip
#else
     :: i != me -> is_named[i] = false
#endif
     :: i == me -> skip
     fi;
     i++
  :: else -> break
  od;
  i = 1;
  do
  :: i < mine ->
     if
     :: atomic { deaths_left > 0 -> deaths_left--; listens[me] = false; serving-- }; goto gone
     :: owner[i] = 0
     fi;
     i++
  :: else -> break
  od;
  /* Dies, or ends in order. */
#ifdef REMOVE_AT_EXIT
  atomic { serving--; owner[mine] = 0 };
#else
  serving--;
#endif
leave:
  listens[me] = false;
gone:
  skip
}

init {
  atomic {
    byte c = 0;
    do
    :: c < CANDIDATES -> run Candidate(c); c++
    :: else -> break
    od
  }
}
