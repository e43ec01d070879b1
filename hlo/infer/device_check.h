/* Whether one device, or several, can run a module. */
#ifndef XLAC_HLO_INFER_DEVICE_CHECK_H
#define XLAC_HLO_INFER_DEVICE_CHECK_H

#include "hlo/ir/hlo_module.h"

/* Reports the first instruction whose value depends on other devices, with their number, code "unsupported-devices":
 * collectives among several, manual regions that change shapes, and the number of the device where there are several.
 * Groups of everything ({}) and shardings compute on one device what they compute on all.  Linear time. */
MUST_USE Status hlo_check_one_device(const HloModule *module, DiagSink *diag);

/* Reports the first instruction that says that a partitioner has yet to divide the module among devices, code
 * "unsupported-devices": markers, and, unless XLA's partitioner has named the entry ("..._spmd"), shardings of other
 * values than parameters and result; in a module without collectives those as well.  Linear time. */
MUST_USE Status hlo_check_partitioned(const HloModule *module, DiagSink *diag);

/* What hlo_check_partitioned would report: there are shardings for a partitioner, and nobody has been at them. */
bool hlo_module_is_to_be_partitioned(const HloModule *module);

/* |devices| all together run |module|: its num_partitions becomes what its replicas leave of them; 0: the header says
 * it.  Shardings of a module that is still to be partitioned may name devices of any number until the partitioner has
 * fitted them (fits_partitions).  STATUS_INVALID (code "devices") where replicas do not divide them. */
MUST_USE Status hlo_set_device_count(HloModule *module, int64_t devices, DiagSink *diag);

/* Nothing shows that a partitioner has divided |module|, or that it was written for several devices: neither its
 * instructions (collectives, numbers of devices, transfers between them) nor the name of its entry ("..._spmd"). Shapes
 * are then those of whole arrays, and one device computes what all would, whatever the header says. */
bool hlo_module_is_whole(const HloModule *module);

/* For code: hlo_check_partitioned where the header has several devices and the module is not whole, so that they run
 * together; else hlo_check_one_device. */
MUST_USE Status hlo_check_devices(const HloModule *module, DiagSink *diag);

#endif
