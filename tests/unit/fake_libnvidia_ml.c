// SPDX-License-Identifier: BSD-3-Clause
// A libnvidia-ml.so.1 for machines without a GPU: it knows the device 0000:3b:00.0, of whose five NVLinks four are up,
// and 0000:5E:00.0, which has none.
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { success = 0, not_initialised = 1, bad_argument = 2, not_found = 6 };

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device);
int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* state);

static int users;
static char linked, unlinked;

EXPORTED int nvmlInit_v2(void) {
  ++users;
  return success;
}

EXPORTED int nvmlShutdown(void) { return users-- > 0 ? success : not_initialised; }

EXPORTED int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  if (users < 1) return not_initialised;
  *device = strcmp(address, "0000:3b:00.0") == 0 ? &linked : strcmp(address, "0000:5E:00.0") == 0 ? &unlinked : NULL;
  return *device == NULL ? not_found : success;
}

EXPORTED int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* state) {
  if (users < 1 || device != &linked || link >= 5) return bad_argument;
  *state = link == 2 ? 0 : 1;
  return success;
}
