/* The process that a lock word names frees the shard (src/segment/lock_word.cc,
 * src/platform/critical_section_mark.h): threads of one process, a thread of another process, a
 * corruption that makes the word name the process while none of its threads is inside, and the check
 * for that.
 *
 * Promised: the word is cleared only while no thread of the process is inside; each living thread gets
 * in.
 *
 * NO_ANSWER:            the challenge has no answer. The corruption stays.
 * NO_SECOND_CHECK:     the marks are checked only before the word. Known to be wrong.
 * NO_COUNT:           a mark has whether its thread is inside, not how often it has entered. Known to
 *                     be wrong: one thread leaves and another enters between the checks.
 * MARK_AFTER_WORD:    a thread marks itself after it has acquired the lock. Known to be wrong.
 * UNMARK_BEFORE_WORD: a thread removes its mark before it releases the lock. Known to be wrong.
 */
#define THREADS 2

#define NO_PROCESS 0
#define SELF 1
#define OTHER 2

byte word = NO_PROCESS;
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
     :: atomic { word == NO_PROCESS -> word = SELF; inside++; assert(inside == 1) } break
     :: word != NO_PROCESS ->
        /* A thread that sleeps for the shard is not marked. */
        is_inside[id] = false;
        word == NO_PROCESS;
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
     atomic { inside--; word = NO_PROCESS };
     is_inside[id] = false
  od
}

active proctype OfAnotherProcess() {
  atomic { word == NO_PROCESS -> word = OTHER; inside++; assert(inside == 1) }
  atomic { inside--; word = NO_PROCESS }
}

active proctype Corruption() {
  if
  :: atomic { word == NO_PROCESS -> word = SELF }
  :: skip
  fi
}

inline Check(thread, count, mark) {
  atomic { count = entries[thread]; mark = is_inside[thread] }
}

#ifndef NO_ANSWER
active proctype Census() {
  byte first[THREADS];
  byte second[THREADS];
  bool marks[THREADS];
  byte seen;

end:
  do
  :: word == SELF ->
     Check(0, first[0], marks[0]);
     Check(1, first[1], marks[1]);
     if
     :: marks[0] || marks[1] -> goto end
     :: else
     fi;
     seen = word;
#ifndef NO_SECOND_CHECK
     Check(0, second[0], marks[0]);
     Check(1, second[1], marks[1]);
     if
     :: marks[0] || marks[1] || first[0] != second[0] || first[1] != second[1] -> goto end
     :: else
     fi;
#endif
     if
     :: seen == SELF ->
        atomic {
          if
          :: word == SELF -> assert(inside == 0); word = NO_PROCESS
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

/* Spin reports an invalid end state (a shard that no thread can enter) as a deadlock. */
