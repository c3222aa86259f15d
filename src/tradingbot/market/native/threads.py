"""C that shares the parts of a call between threads: one fork and one join per call.

Helpers take parts from a counter, so a neighbour that holds a core delays one part, not the call:
threads that run do the others. After a call they look out for the next for some microseconds and
then sleep: waking a thread takes as long as a thousand lanes. The calling thread works too, and
alone where another call has the helpers, or after a fork, which helpers do not survive.
"""

PARTS = """\
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
enum { MOST_HELPERS = 63, AWAKE_NS = 100000, LOOKS = 64 };
typedef void part_function(const int64_t *call, int64_t part);
static struct {
  pthread_mutex_t user, lock;
  pthread_cond_t wake, idle;
  pid_t owner;
  int helpers;
  /* Written by the caller before it opens a turn, read by helpers that have joined it: */
  int wanted;
  part_function *function;
  const int64_t *call;
  int64_t parts;
  uint64_t turns;
  /* A helper joins and then looks whether a turn is open; the caller closes it and then looks
     whether any has joined. So none touches a call that is over. Likewise for who sleeps. */
  _Atomic uint64_t open;
  _Atomic int64_t taken, front, back;
  _Atomic int joined, asleep, caller_sleeps;
} team = {.user = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};

/* The caller takes parts from the front and helpers from the back: from call to call a thread has
   much the same lanes, and finds them in the caches of its core. */
static void take_parts(_Atomic int64_t *mine, int64_t first, int64_t step)
{
  while (atomic_fetch_add(&team.taken, 1) < team.parts)
    team.function(team.call, first + step * atomic_fetch_add(mine, 1));
}

static int64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Look for a while whether `condition` holds; the result is whether it does. */
#if defined(__x86_64__) || defined(__i386__)
#define REST() __builtin_ia32_pause()
#else
#define REST() atomic_signal_fence(memory_order_seq_cst)
#endif
#define LOOK_OUT_FOR(condition) ({ \\
    const int64_t until = now_ns() + AWAKE_NS; \\
    int holds; \\
    do \\
      for (int look = 0; !(holds = (condition)) && look < LOOKS; look++) REST(); \\
    while (!holds && now_ns() < until); \\
    holds; })

static void *help(void *number)
{
  uint64_t done = 0, turn;
  for (;;) {
    if (!LOOK_OUT_FOR((turn = atomic_load(&team.open)) != 0 && turn != done)) {
      pthread_mutex_lock(&team.lock);
      atomic_fetch_add(&team.asleep, 1);
      while ((turn = atomic_load(&team.open)) == 0 || turn == done)
        pthread_cond_wait(&team.wake, &team.lock);
      atomic_fetch_sub(&team.asleep, 1);
      pthread_mutex_unlock(&team.lock);
    }
    atomic_fetch_add(&team.joined, 1);
    turn = atomic_load(&team.open);
    if (turn != 0) {
      done = turn;
      if ((intptr_t)number < team.wanted) take_parts(&team.back, team.parts - 1, -1);
    }
    if (atomic_fetch_sub(&team.joined, 1) == 1 && atomic_load(&team.caller_sleeps)) {
      pthread_mutex_lock(&team.lock);
      pthread_cond_signal(&team.idle);
      pthread_mutex_unlock(&team.lock);
    }
  }
  return 0;
}

static int gather_team(int helpers)
{
  if (team.owner != getpid()) {
    team.owner = getpid();
    team.helpers = 0;
    atomic_store(&team.joined, 0);
    atomic_store(&team.asleep, 0);
    atomic_store(&team.open, 0);
    pthread_mutex_init(&team.lock, 0);
    pthread_cond_init(&team.wake, 0);
    pthread_cond_init(&team.idle, 0);
  }
  if (helpers > MOST_HELPERS) helpers = MOST_HELPERS;
  while (team.helpers < helpers) {
    pthread_t thread;
    if (pthread_create(&thread, 0, help, (void *)(intptr_t)team.helpers)) break;
    pthread_detach(thread);
    team.helpers++;
  }
  return helpers < team.helpers ? helpers : team.helpers;
}

static void dismiss_team(void)
{
  atomic_store(&team.open, 0);
  if (LOOK_OUT_FOR(atomic_load(&team.joined) == 0)) return;
  atomic_store(&team.caller_sleeps, 1);
  pthread_mutex_lock(&team.lock);
  while (atomic_load(&team.joined) > 0) pthread_cond_wait(&team.idle, &team.lock);
  pthread_mutex_unlock(&team.lock);
  atomic_store(&team.caller_sleeps, 0);
}

static void share_parts(part_function *function, const int64_t *call, int64_t parts,
                        int64_t threads)
{
  int64_t useful = threads < parts / 4 ? threads : parts / 4; /* waking one costs some parts */
  if (useful <= 1 || pthread_mutex_trylock(&team.user)) {
    for (int64_t part = 0; part < parts; part++) function(call, part);
    return;
  }
  team.wanted = gather_team((int)useful - 1);
  team.function = function;
  team.call = call;
  team.parts = parts;
  atomic_store(&team.taken, 0);
  atomic_store(&team.front, 0);
  atomic_store(&team.back, 0);
  atomic_store(&team.open, ++team.turns);
  if (atomic_load(&team.asleep) > 0) {
    pthread_mutex_lock(&team.lock);
    pthread_cond_broadcast(&team.wake);
    pthread_mutex_unlock(&team.lock);
  }
  take_parts(&team.front, 0, 1);
  dismiss_team();
  pthread_mutex_unlock(&team.user);
}
"""
"""Defines `share_parts(function, call, parts, threads)`; wants <stdint.h>."""
