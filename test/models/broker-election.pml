/* Which process is the broker of a bucket (lib/backends/broker/server/election.js): candidates that
 * start at any time, may be arbitrarily slow between two steps, and may die before each of them. A claim is a file that
 * names the candidate's socket; to create one is exclusive.
 *
 * Promised: at most one candidate that lives serves.
 *
 * CLAIM_BEFORE_LISTEN: the claim is made first, so a claim may name a socket that nobody listens on
 *                      yet. Known to be wrong: a slow candidate is taken for a dead one.
 * NO_SECOND_LOOK:      who has made a claim does not look whether there is a higher one. Known to be
 *                      wrong: claims below the highest are removed, and can be made again.
 * NO_SOCKET_CHECK:     who has made a claim does not look whether its socket still has its name. Known
 *                      to be wrong: a broker that has died since has removed it as left over, so
 *                      others take this one for dead.
 * PIPES:               sockets are no files, and their names go with them, as on Windows. Holds.
 * REMOVE_AT_EXIT:      who ends in order removes its own claim. Known to be wrong: the numbers start
 *                      again, and a slow candidate still has an old one in mind.
 */
#define CANDIDATES 4
#define CLAIMS 6

byte owner[CLAIMS];     /* of each claim: candidate + 1; 0: there is no such file */
bool listens[CANDIDATES];
bool is_named[CANDIDATES];  /* the socket has its name: without it nobody gets through */
byte serving = 0;
byte deaths_left = 3;

inline maybe_die() {
  if
  :: atomic { deaths_left > 0 -> deaths_left--; listens[me] = false }; goto gone
  :: skip
  fi
}

/* One reading of the directory: files that are there all the time are seen. */
inline look_for_highest() {
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
  look_for_highest();
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
#ifndef NO_SECOND_LOOK
  look_for_highest();
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
  /* Removes what is left over: the names of all other sockets, and the lower claims. */
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
