#include "runtime/collectives/rendezvous.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

typedef enum DeviceState {
  DEVICE_RUNS,
  DEVICE_ENTERS,    /* waits until the members of its meeting are there */
  DEVICE_MEETS,     /* has all of them, until all have left */
  DEVICE_COMPLETES, /* waits for the other side of a transfer */
  DEVICE_FINISHED
} DeviceState;

typedef struct Device {
  DeviceState state;
  Meeting meeting; /* ENTERS, MEETS */
  const void *contribution;
  int64_t left_count; /* MEETS, the first of the members: those that have left */
  int64_t peer;       /* COMPLETES */
  int64_t awaited;    /* COMPLETES: the number of its transfer */
  const char *name;   /* of what it waits in */
  pthread_cond_t changed;
} Device;

/* One side of a transfer. */
typedef struct Announcement {
  Transfer transfer;
  int64_t device;
  int64_t order; /* among all announcements: places are used again */
  bool is_copied;
  bool is_free; /* completed: its place may be used again */
} Announcement;

enum { FAILURE_TEXT_SIZE = 1024 };

struct Rendezvous {
  Arena *arena;
  pthread_mutex_t mutex; /* for all that follows */
  int64_t device_count;
  Device *devices;
  ARRAY(Announcement) announcements;
  int64_t announced_count;
  bool has_failed, is_mismatch;
  size_t text_size;
  char text[FAILURE_TEXT_SIZE];
  int64_t *chain; /* of the failure */
  int64_t chain_count;
  int64_t *trail;     /* devices that find_deadlock has come to */
  int64_t *came_from; /* from where; -1: it has not */
};

Rendezvous *rendezvous_create(int64_t device_count) {
  Arena *arena = arena_create();
  Rendezvous *rendezvous = ARENA_NEW(arena, Rendezvous);
  rendezvous->arena = arena;
  rendezvous->device_count = device_count;
  rendezvous->devices = ARENA_NEW_ARRAY(arena, Device, device_count);
  rendezvous->chain = ARENA_NEW_ARRAY(arena, int64_t, device_count + 1);
  rendezvous->trail = ARENA_NEW_ARRAY(arena, int64_t, device_count);
  rendezvous->came_from = ARENA_NEW_ARRAY(arena, int64_t, device_count);
  pthread_mutex_init(&rendezvous->mutex, NULL);
  for (int64_t i = 0; i < device_count; i++) pthread_cond_init(&rendezvous->devices[i].changed, NULL);
  return rendezvous;
}

void rendezvous_destroy(Rendezvous *rendezvous) {
  if (rendezvous == NULL) return;
  for (int64_t i = 0; i < rendezvous->device_count; i++) pthread_cond_destroy(&rendezvous->devices[i].changed);
  pthread_mutex_destroy(&rendezvous->mutex);
  arena_destroy(rendezvous->arena);
}

void rendezvous_reset(Rendezvous *rendezvous) {
  pthread_mutex_lock(&rendezvous->mutex);
  for (int64_t i = 0; i < rendezvous->device_count; i++) rendezvous->devices[i].state = DEVICE_RUNS;
  rendezvous->announcements.count = 0;
  rendezvous->has_failed = rendezvous->is_mismatch = false;
  pthread_mutex_unlock(&rendezvous->mutex);
}

/* --- failure; the mutex is held from here on --- */

static void add_text(Rendezvous *rendezvous, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_text(Rendezvous *rendezvous, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  size_t room = sizeof rendezvous->text - rendezvous->text_size;
  int size = vsnprintf(rendezvous->text + rendezvous->text_size, room, format, arguments);
  va_end(arguments);
  if (size > 0) rendezvous->text_size += (size_t)size < room ? (size_t)size : room - 1;
}

/* The first failure is the one that is told; its text is added by the caller.  False: there was one. */
static bool begin_failure(Rendezvous *rendezvous, bool is_mismatch) {
  if (rendezvous->has_failed) return false;
  rendezvous->has_failed = true;
  rendezvous->is_mismatch = is_mismatch;
  rendezvous->text_size = 0;
  rendezvous->chain_count = 0;
  for (int64_t i = 0; i < rendezvous->device_count; i++) pthread_cond_signal(&rendezvous->devices[i].changed);
  return true;
}

/* A circle begins with its smallest device, whoever came to it last. */
static void turn_circle(int64_t *circle, int64_t count) {
  for (int64_t least = 0; least < count; least++) {
    bool is_least = true;
    for (int64_t i = 0; i < count; i++) is_least = is_least && circle[least] <= circle[i];
    if (!is_least) continue;
    for (; least > 0; least--) {
      int64_t first = circle[0];
      memmove(circle, circle + 1, (size_t)(count - 1) * sizeof *circle);
      circle[count - 1] = first;
    }
    return;
  }
}

/* |start| waits for …, which waits for |last|, which waits for |end|. */
static void tell_deadlock(Rendezvous *rendezvous, int64_t start, int64_t last, int64_t end) {
  if (!begin_failure(rendezvous, true)) return;
  int64_t count = 1, *chain = rendezvous->chain;
  for (int64_t device = last; device != start; device = rendezvous->came_from[device]) count++;
  for (int64_t device = last, i = count - 1; i >= 0; i--, device = rendezvous->came_from[device]) chain[i] = device;
  if (end == start) turn_circle(chain, count);
  chain[count] = end == start ? chain[0] : end;
  for (int64_t i = 0; i < count; i++) {
    if (i == 0)
      add_text(rendezvous, "device %lld waits", (long long)chain[i]);
    else
      add_text(rendezvous, ", which waits");
    add_text(rendezvous, " in %s for device %lld", rendezvous->devices[chain[i]].name, (long long)chain[i + 1]);
  }
  if (end != start) add_text(rendezvous, ", which has finished");
  rendezvous->chain_count = count + 1;
}

/* --- who waits for whom --- */

static bool is_same_meeting(const Meeting *a, const Meeting *b) {
  return a->key == b->key && a->member_count == b->member_count &&
         memcmp(a->members, b->members, (size_t)a->member_count * sizeof *a->members) == 0;
}

static bool is_there(const Rendezvous *rendezvous, const Meeting *meeting, int64_t device) {
  const Device *member = &rendezvous->devices[device];
  return member->state == DEVICE_ENTERS && is_same_meeting(&member->meeting, meeting);
}

static bool all_are_there(const Rendezvous *rendezvous, const Meeting *meeting) {
  for (int64_t i = 0; i < meeting->member_count; i++) {
    if (!is_there(rendezvous, meeting, meeting->members[i])) return false;
  }
  return true;
}

static bool waits(const Device *device) {
  return device->state == DEVICE_ENTERS || device->state == DEVICE_COMPLETES;
}

/* The next device from number |*next| of its list on that |device| waits for; -1: no more. */
static int64_t next_missing(const Rendezvous *rendezvous, const Device *device, int64_t *next) {
  if (device->state == DEVICE_COMPLETES) return (*next)++ == 0 ? device->peer : -1;
  while (*next < device->meeting.member_count) {
    int64_t member = device->meeting.members[(*next)++];
    if (!is_there(rendezvous, &device->meeting, member)) return member;
  }
  return -1;
}

/* |start| waits: whether it does so for ever, which is then told. */
static void find_deadlock(Rendezvous *rendezvous, int64_t start) {
  int64_t count = 0;
  for (int64_t i = 0; i < rendezvous->device_count; i++) rendezvous->came_from[i] = -1;
  rendezvous->trail[count++] = start;
  for (int64_t i = 0; i < count; i++) {
    int64_t from = rendezvous->trail[i], next = 0;
    for (int64_t to; (to = next_missing(rendezvous, &rendezvous->devices[from], &next)) >= 0;) {
      const Device *missing = &rendezvous->devices[to];
      if (to == start || missing->state == DEVICE_FINISHED) {
        tell_deadlock(rendezvous, start, from, to);
        return;
      }
      if (!waits(missing) || rendezvous->came_from[to] >= 0) continue;
      rendezvous->came_from[to] = from;
      rendezvous->trail[count++] = to;
    }
  }
}

static void wait_while(Rendezvous *rendezvous, Device *self, DeviceState state) {
  while (self->state == state && !rendezvous->has_failed) pthread_cond_wait(&self->changed, &rendezvous->mutex);
}

/* --- meetings --- */

static void begin_meeting(Rendezvous *rendezvous, const Meeting *meeting) {
  rendezvous->devices[meeting->members[0]].left_count = 0;
  for (int64_t i = 0; i < meeting->member_count; i++) {
    Device *member = &rendezvous->devices[meeting->members[i]];
    member->state = DEVICE_MEETS;
    pthread_cond_signal(&member->changed);
  }
}

bool rendezvous_enter(Rendezvous *rendezvous, int64_t device, const Meeting *meeting, const void *contribution,
                      const void **out_contributions) {
  Device *self = &rendezvous->devices[device];
  pthread_mutex_lock(&rendezvous->mutex);
  if (!rendezvous->has_failed) {
    self->meeting = *meeting;
    self->name = meeting->name;
    self->contribution = contribution;
    self->state = DEVICE_ENTERS;
    if (all_are_there(rendezvous, meeting))
      begin_meeting(rendezvous, meeting);
    else
      find_deadlock(rendezvous, device);
    wait_while(rendezvous, self, DEVICE_ENTERS);
  }
  bool meets = self->state == DEVICE_MEETS;
  if (!meets) self->state = DEVICE_RUNS;
  for (int64_t i = 0; i < meeting->member_count && meets; i++)
    out_contributions[i] = rendezvous->devices[meeting->members[i]].contribution;
  pthread_mutex_unlock(&rendezvous->mutex);
  return meets;
}

void rendezvous_leave(Rendezvous *rendezvous, int64_t device) {
  Device *self = &rendezvous->devices[device];
  pthread_mutex_lock(&rendezvous->mutex);
  const Meeting meeting = self->meeting;
  if (++rendezvous->devices[meeting.members[0]].left_count == meeting.member_count) {
    for (int64_t i = 0; i < meeting.member_count; i++) {
      Device *member = &rendezvous->devices[meeting.members[i]];
      member->state = DEVICE_RUNS;
      pthread_cond_signal(&member->changed);
    }
  }
  /* A failure elsewhere changes nothing here: the others still read what this device has contributed. */
  while (self->state == DEVICE_MEETS) pthread_cond_wait(&self->changed, &rendezvous->mutex);
  pthread_mutex_unlock(&rendezvous->mutex);
}

/* --- transfers --- */

/* The first announcement of the other side of |side| that has no other side yet; NULL: there is none. */
static Announcement *find_other_side(Rendezvous *rendezvous, const Announcement *side) {
  Announcement *first = NULL;
  for (int64_t i = 0; i < rendezvous->announcements.count; i++) {
    Announcement *other = &rendezvous->announcements.data[i];
    if (!other->is_free && !other->is_copied && other->transfer.key == side->transfer.key &&
        other->transfer.sends != side->transfer.sends && other->device == side->transfer.peer &&
        other->transfer.peer == side->device && (first == NULL || other->order < first->order))
      first = other;
  }
  return first;
}

/* |a| has just been announced, |b| before it. */
static void copy_data(Rendezvous *rendezvous, Announcement *a, Announcement *b) {
  const Announcement *from = a->transfer.sends ? a : b, *to = a->transfer.sends ? b : a;
  if (from->transfer.bytes != to->transfer.bytes) {
    if (begin_failure(rendezvous, true))
      add_text(rendezvous, "device %lld sends %lld bytes in %s, device %lld receives %lld in %s",
               (long long)from->device, (long long)from->transfer.bytes, from->transfer.name, (long long)to->device,
               (long long)to->transfer.bytes, to->transfer.name);
    return;
  }
  memcpy(to->transfer.data, from->transfer.data, (size_t)from->transfer.bytes);
  a->is_copied = b->is_copied = true;
  Device *other = &rendezvous->devices[b->device];
  if (other->state != DEVICE_COMPLETES || &rendezvous->announcements.data[other->awaited] != b) return;
  other->state = DEVICE_RUNS;
  pthread_cond_signal(&other->changed);
}

int64_t rendezvous_announce(Rendezvous *rendezvous, int64_t device, const Transfer *transfer) {
  pthread_mutex_lock(&rendezvous->mutex);
  int64_t place = 0;
  while (place < rendezvous->announcements.count && !rendezvous->announcements.data[place].is_free) place++;
  Announcement new = {.transfer = *transfer, .device = device, .order = rendezvous->announced_count++};
  if (place == rendezvous->announcements.count)
    array_push(&rendezvous->announcements, rendezvous->arena, new);
  else
    rendezvous->announcements.data[place] = new;
  Announcement *self = &rendezvous->announcements.data[place], *other = find_other_side(rendezvous, self);
  if (other != NULL) copy_data(rendezvous, self, other);
  pthread_mutex_unlock(&rendezvous->mutex);
  return place;
}

bool rendezvous_complete(Rendezvous *rendezvous, int64_t device, int64_t transfer, const char *name) {
  Device *self = &rendezvous->devices[device];
  pthread_mutex_lock(&rendezvous->mutex);
  const Announcement *announcement = &rendezvous->announcements.data[transfer];
  if (!announcement->is_copied && !rendezvous->has_failed) {
    self->state = DEVICE_COMPLETES;
    self->peer = announcement->transfer.peer;
    self->awaited = transfer;
    self->name = name;
    find_deadlock(rendezvous, device);
    wait_while(rendezvous, self, DEVICE_COMPLETES);
    self->state = DEVICE_RUNS;
  }
  bool is_copied = rendezvous->announcements.data[transfer].is_copied;
  rendezvous->announcements.data[transfer].is_free = true;
  pthread_mutex_unlock(&rendezvous->mutex);
  return is_copied;
}

void rendezvous_withdraw(Rendezvous *rendezvous, int64_t device) {
  pthread_mutex_lock(&rendezvous->mutex);
  for (int64_t i = 0; i < rendezvous->announcements.count; i++) {
    Announcement *announcement = &rendezvous->announcements.data[i];
    if (announcement->device == device) announcement->is_free = true;
  }
  pthread_mutex_unlock(&rendezvous->mutex);
}

/* --- ends --- */

void rendezvous_finish(Rendezvous *rendezvous, int64_t device, bool has_failed) {
  pthread_mutex_lock(&rendezvous->mutex);
  rendezvous->devices[device].state = DEVICE_FINISHED;
  if (has_failed && begin_failure(rendezvous, false)) add_text(rendezvous, "device %lld has failed", (long long)device);
  for (int64_t i = 0; i < rendezvous->device_count && !rendezvous->has_failed; i++) {
    if (waits(&rendezvous->devices[i])) find_deadlock(rendezvous, i);
  }
  pthread_mutex_unlock(&rendezvous->mutex);
}

const char *rendezvous_failure(Rendezvous *rendezvous) {
  pthread_mutex_lock(&rendezvous->mutex);
  const char *text = rendezvous->has_failed ? rendezvous->text : NULL;
  pthread_mutex_unlock(&rendezvous->mutex);
  return text;
}

int64_t rendezvous_failure_chain(Rendezvous *rendezvous, const int64_t **out_devices) {
  pthread_mutex_lock(&rendezvous->mutex);
  int64_t count = rendezvous->has_failed ? rendezvous->chain_count : 0;
  pthread_mutex_unlock(&rendezvous->mutex);
  *out_devices = rendezvous->chain;
  return count;
}

bool rendezvous_is_mismatch(Rendezvous *rendezvous) {
  pthread_mutex_lock(&rendezvous->mutex);
  bool is_mismatch = rendezvous->has_failed && rendezvous->is_mismatch;
  pthread_mutex_unlock(&rendezvous->mutex);
  return is_mismatch;
}
