/* Who is said to be inside a shard frees it itself (src/segment/lock_word.cc,
 * src/platform/critical_section_mark.h): threads of one process, a thread of another, damage that makes the
 * word name the process while nobody is inside, and the look that is to find out.
 *
 * Promised: the word is cleared only while no thread of the process is inside; whoever lives gets
 * in.
 *
 * NO_LOOK:            nobody answers the challenge. The damage stays.
 * NO_SECOND_LOOK:     the marks are looked at before the word alone. Known to be wrong.
 * NO_COUNT:           a mark says whether its thread is inside, not how often it has entered. Known
 *                     to be wrong: one thread leaves and another enters behind the looks.
 * MARK_AFTER_WORD:    a thread marks itself after it has taken the lock. Known to be wrong.
 * UNMARK_BEFORE_WORD: it takes its mark away before it gives the lock back. Known to be wrong.
 */
#define THREADS 2

#define NOBODY 0
#define SELF 1
#define OTHER 2

byte word = NOBODY;
byte inside = 0;         /* of all threads */
bool is_inside[THREADS]; /* a mark: both halves are one word */
byte entries[THREADS];

inline Mark() {
#ifdef NO_COUNT
  is_inside[id] = true
#else
  atomic { is_inside[id] = true; entries[id]++ }
#endif
}

proctype Thread(byte id; byte sections) {
  do
  :: sections == 0 -> break
  :: else ->
     sections--;
#ifndef MARK_AFTER_WORD
     Mark();
#endif
     do
     :: atomic { word == NOBODY -> word = SELF; inside++; assert(inside == 1) } break
     :: word != NOBODY ->
        /* Asleep for the shard, a thread is not marked. */
        is_inside[id] = false;
        word == NOBODY;
#ifndef MARK_AFTER_WORD
        Mark()
#endif
     od;
#ifdef MARK_AFTER_WORD
     Mark();
#endif
#ifdef UNMARK_BEFORE_WORD
     is_inside[id] = false;
#endif
     atomic { inside--; word = NOBODY };
     is_inside[id] = false
  od
}

active proctype OfAnotherProcess() {
  atomic { word == NOBODY -> word = OTHER; inside++; assert(inside == 1) }
  atomic { inside--; word = NOBODY }
}

active proctype Damage() {
  if
  :: atomic { word == NOBODY -> word = SELF }
  :: skip
  fi
}

inline Look(thread, count, mark) {
  atomic { count = entries[thread]; mark = is_inside[thread] }
}

#ifndef NO_LOOK
active proctype Census() {
  byte first[THREADS];
  byte second[THREADS];
  bool marks[THREADS];
  byte seen;

end:
  do
  :: word == SELF ->
     Look(0, first[0], marks[0]);
     Look(1, first[1], marks[1]);
     if
     :: marks[0] || marks[1] -> goto end
     :: else
     fi;
     seen = word;
#ifndef NO_SECOND_LOOK
     Look(0, second[0], marks[0]);
     Look(1, second[1], marks[1]);
     if
     :: marks[0] || marks[1] || first[0] != second[0] || first[1] != second[1] -> goto end
     :: else
     fi;
#endif
     if
     :: seen == SELF ->
        atomic {
          if
          :: word == SELF -> assert(inside == 0); word = NOBODY
          :: else
          fi
        }
     :: else
     fi
  od
}
#endif

init {
  atomic { run Thread(0, 2); run Thread(1, 1) }
}

/* An invalid end state (a shard that nobody can have) is what Spin reports as a deadlock. */
