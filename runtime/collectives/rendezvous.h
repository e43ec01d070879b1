/* Rendezvous: where devices that are threads of one process meet for a collective.
 *
 * A device *enters* a meeting with a pointer to what it contributes and waits until all members of its group have
 * entered the same one; it then reads what the others contribute, and *leaves*, which waits until all have read.  So
 * nothing is copied in between, and nobody's operand goes away early.  Transfers from one device to another are
 * *announced* by both sides, which go on, and *completed*.
 *
 * A device waits for all members that are missing, so that it waits for ever exactly when a chain of such waits leads
 * to a device that has finished, or back to itself.  The chain is looked for whenever a device begins to wait and
 * whenever one finishes; once there is one, or a device has failed, everybody's waits end, and so do all later ones. */
#ifndef XLAC_RUNTIME_COLLECTIVES_RENDEZVOUS_H
#define XLAC_RUNTIME_COLLECTIVES_RENDEZVOUS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Rendezvous Rendezvous;

/* Of devices 0 … |device_count| - 1, all of which run. */
Rendezvous *rendezvous_create(int64_t device_count);
/* When no device uses it any more; accepts NULL. */
void rendezvous_destroy(Rendezvous *rendezvous);
/* For the next run, after all devices have finished. */
void rendezvous_reset(Rendezvous *rendezvous);

typedef struct Meeting {
  uint64_t key;     /* equal in all members, and unlike that of any other meeting of theirs they may confuse it with */
  const char *name; /* of the place in the program, for messages: "all-reduce 'sum'" */
  const int64_t *members; /* the devices of the group in listed order, among them the caller, each once */
  int64_t member_count;
} Meeting;

/* Waits until all members of |meeting| are in it, then fills |out_contributions| with what they contribute, in listed
 * order, and returns true: the caller reads, enters nothing else, and calls rendezvous_leave, which waits until all
 * members have.  False when that cannot be any more: rendezvous_failure says why.  What |meeting| points to has to live
 * until then. */
bool rendezvous_enter(Rendezvous *rendezvous, int64_t device, const Meeting *meeting, const void *contribution,
                      const void **out_contributions);
void rendezvous_leave(Rendezvous *rendezvous, int64_t device);

typedef struct Transfer {
  uint64_t key;     /* equal on both sides; transfers of one key between two devices arrive in the order announced */
  const char *name; /* as in Meeting; it and |data| have to live until the transfer is completed */
  int64_t peer;     /* the device at the other side, which may be the caller itself */
  bool sends;
  void *data; /* sends: read; else written */
  int64_t bytes;
} Transfer;

/* Returns at once; the data are copied when the second side is announced.  The number of the transfer for
 * rendezvous_complete. */
int64_t rendezvous_announce(Rendezvous *rendezvous, int64_t device, const Transfer *transfer);
/* Waits until the data are copied, for |name|; each transfer once.  False as in rendezvous_enter, also when the two
 * sides have not as many bytes. */
bool rendezvous_complete(Rendezvous *rendezvous, int64_t device, int64_t transfer, const char *name);

/* What |device| has announced, and nobody has copied, is not copied any more: its memory may go away. */
void rendezvous_withdraw(Rendezvous *rendezvous, int64_t device);

/* |device| enters nothing any more; with |has_failed| nobody else does either.  Every device does this once. */
void rendezvous_finish(Rendezvous *rendezvous, int64_t device, bool has_failed);

/* Why waits have failed, NULL: they have not.  "device 0 waits in all-reduce 'sum' for device 1, which has finished".
 * Any thread may ask; the text lives until the reset. */
const char *rendezvous_failure(Rendezvous *rendezvous);
/* The devices that the failure's text names one after the other, the first of which waits for the second, and so on;
 * the last may have finished, or be the first again.  How many; 0: no device waits for ever. */
int64_t rendezvous_failure_chain(Rendezvous *rendezvous, const int64_t **out_devices);
/* The failure is that what the devices do does not fit together, and not one that a device has reported itself. */
bool rendezvous_is_mismatch(Rendezvous *rendezvous);

#endif
