"""C that shares the parts of a call between threads: one fork and one join per call.

Helpers sleep between calls and take parts from a counter while they are awake, so a neighbour that
holds a core delays one part, not the call: threads that run do the others. The calling thread
works too, and alone where another call has the helpers, or after a fork, which helpers do not
survive.
"""

PARTS = """\
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
enum { MOST_HELPERS = 63 };
typedef void part_function(const int64_t *call, int64_t part);
static struct {
  pthread_mutex_t user, lock;
  pthread_cond_t wake, idle;
  pid_t owner;
  int helpers, wanted, awake;
  uint64_t turn;
  part_function *function;
  const int64_t *call;
  int64_t parts;
  _Atomic int64_t next;
} team = {.user = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};

static void take_parts(void)
{
  int64_t part;
  while ((part = atomic_fetch_add(&team.next, 1)) < team.parts) team.function(team.call, part);
}

static void *help(void *number)
{
  uint64_t seen = 0;
  pthread_mutex_lock(&team.lock);
  for (;;) {
    while (team.turn == seen) pthread_cond_wait(&team.wake, &team.lock);
    seen = team.turn;
    if ((intptr_t)number >= team.wanted || atomic_load(&team.next) >= team.parts) continue;
    team.awake++;
    pthread_mutex_unlock(&team.lock);
    take_parts();
    pthread_mutex_lock(&team.lock);
    if (--team.awake == 0) pthread_cond_signal(&team.idle);
  }
  return 0;
}

static int gather_team(int helpers)
{
  if (team.owner != getpid()) {
    team.owner = getpid();
    team.helpers = team.awake = 0;
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

static void share_parts(part_function *function, const int64_t *call, int64_t parts,
                        int64_t threads)
{
  int64_t useful = threads < parts / 2 ? threads : parts / 2; /* waking one costs about a part */
  if (useful <= 1 || pthread_mutex_trylock(&team.user)) {
    for (int64_t part = 0; part < parts; part++) function(call, part);
    return;
  }
  int helpers = gather_team((int)useful - 1);
  pthread_mutex_lock(&team.lock);
  team.function = function;
  team.call = call;
  team.parts = parts;
  team.wanted = helpers;
  atomic_store(&team.next, 0);
  team.turn++;
  pthread_cond_broadcast(&team.wake);
  pthread_mutex_unlock(&team.lock);
  take_parts();
  pthread_mutex_lock(&team.lock);
  while (team.awake > 0) pthread_cond_wait(&team.idle, &team.lock);
  pthread_mutex_unlock(&team.lock);
  pthread_mutex_unlock(&team.user);
}
"""
"""Defines `share_parts(function, call, parts, threads)`; wants <stdint.h>."""
