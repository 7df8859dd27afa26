/* The order in which a broker decides the requests of its clients
 * (lib/backends/broker/server/broker.js, StepQueue and ReadingBarrier). A request carries the time at
 * which it was made; the kernel has it some time later. The event loop asks the kernel which
 * connections can be read, and reads these in any order, all bytes that the kernel has by then. A
 * request that arrives meanwhile on another connection is found by the next reading.
 *
 * So a request waits until a whole reading has begun after it was made. Then the due requests are
 * decided in the order of their times.
 *
 * Promised: a request that was in the kernel before another request was made is decided before it.
 *
 * AT_ONCE:     a request is decided when it is read. Known to be wrong: connections are read in any
 *              order.
 * SAME_READING: the requests of a reading are decided after it, whenever they were made. Known to be
 *              wrong: a connection that is read late brings a request that is younger than a request
 *              on a connection that this reading does not read.
 * LATE_SINCE:  the end of the reading is used as its beginning. Known to be wrong for the same reason.
 * BY_ARRIVAL:  due requests are decided in the order of the connections. Known to be wrong.
 */
#define CLIENTS 2
#define REQUESTS 2            /* of each client */
#define ALL (CLIENTS * REQUESTS)

byte now = 1;             /* moments, counted */
byte made[ALL];           /* when; the requests of client c begin at c * REQUESTS */
byte written[ALL];        /* when it was in the kernel; 0: not yet */
bool is_decided[ALL];
byte sent[CLIENTS];       /* how many are in the kernel */

proctype Client(byte me) {
  byte n = 0;
  do
  :: n < REQUESTS ->
     atomic { now++; made[me * REQUESTS + n] = now };
     /* The client may lose the processor here. */
     atomic { now++; written[me * REQUESTS + n] = now; sent[me]++; n++ }
  :: else -> break
  od
}

inline decide(k) {
  j = 0;
  do
  :: j < ALL ->
     assert(j == k || is_decided[j] || written[j] == 0 || written[j] > made[k]);
     j++
  :: else -> break
  od;
  is_decided[k] = true;
  left--
}

/* Decides the read requests that were made at `end` or before, in the order of their times. */
inline decide_until(end) {
  do
  :: true ->
     first = ALL;
     k = 0;
     do
     :: k < ALL ->
        if
        :: k % REQUESTS < read[k / REQUESTS] && !is_decided[k] && made[k] <= end ->
           if
#ifdef BY_ARRIVAL
           :: first == ALL -> first = k
#else
           :: first == ALL || made[k] < made[first] -> first = k
#endif
           :: else
           fi
        :: else
        fi;
        k++
     :: else -> break
     od;
     if
     :: first == ALL -> break
     :: else -> decide(first)
     fi
  od;
  k = 0; j = 0; first = 0
}

inline read_connection(c) {
  atomic {
    can_read[c] = false;
    read[c] = sent[c];
#ifdef AT_ONCE
    decide_until(now)
#endif
  }
}

active proctype Broker() {
  byte read[CLIENTS];
  bool can_read[CLIENTS];
  byte left = ALL;
  byte since, k, j, first;
  atomic { run Client(0); run Client(1) };
  do
  :: left == 0 -> break
  :: else ->
     /* The kernel is asked. */
     atomic {
       can_read[0] = sent[0] > read[0];
       can_read[1] = sent[1] > read[1]
     };
     do
     :: can_read[0] -> read_connection(0)
     :: can_read[1] -> read_connection(1)
     :: !can_read[0] && !can_read[1] -> break
     od;
     atomic {
#ifdef LATE_SINCE
       since = now;
#endif
#ifdef SAME_READING
       decide_until(now);
#else
       decide_until(since);
#endif
       since = now
     }
  od
}
