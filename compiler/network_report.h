/* NetworkReport: what a module divided among the devices of a described network takes: time and bytes of its
 * collectives, the step, memory of a device, how well it uses the devices, and what bounds it. */
#ifndef XLAC_COMPILER_NETWORK_REPORT_H
#define XLAC_COMPILER_NETWORK_REPORT_H

#include "base/json_writer.h"
#include "compiler/compilation.h"
#include "hlo/network/network_plan.h"

typedef struct NetworkQuestion {
  const NetworkDescription *network;
  double measured_seconds; /* that one device takes for all of the model; 0: nobody measured */
} NetworkQuestion;

struct NetworkReport {
  NetworkDescription network;
  NetworkPlan plan;        /* of the program that each device runs */
  bool has_whole;          /* there is a program for one device that does all of it */
  double whole_seconds;    /* that it takes, measured or else estimated */
  double measured_seconds; /* 0: nobody measured */
  double scale;            /* seconds of these devices for an estimated one: 1 without a measurement */
  int64_t memory_bytes;    /* of one device: arguments, results, temporaries and scratch */
  int64_t constant_bytes;
};

/* After compilation_run_passes with passes that assign buffers, of a compilation that parsed its text: |compilation|'s
 * network.  Where the model says itself how it is to be divided it is compiled a second time, for one device.  Errors:
 * those of network_plan_make, "no-assignment", and "network-measured" where there is a measurement and no program for
 * one device. */
MUST_USE Status compilation_plan_network(Compilation *compilation, const NetworkQuestion *question);

/* The section of a compilation's report. */
bool network_report_is_there(const Compilation *compilation);
void network_report_text(StringBuilder *out, const Compilation *compilation);
void network_report_json(JsonWriter *json, const Compilation *compilation);

#endif
