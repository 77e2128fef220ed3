// SPDX-License-Identifier: BSD-3-Clause
// A libnvidia-ml.so.1 for machines without a GPU: it knows the device 0000:3b:00.0, of whose five NVLinks four are up
// (two lead to one NVSwitch, one to a GPU, one to what it does not tell), and 0000:5E:00.0, which has none.
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { success = 0, not_initialised = 1, bad_argument = 2, not_found = 6 };

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device);
int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* state);
struct pci_info {
  char legacy_bus_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, struct pci_info* end);

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

EXPORTED int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, struct pci_info* end) {
  if (users < 1 || device != &linked || link >= 4) return bad_argument;
  memset(end, 0, sizeof *end);
  end->domain = link == 3 ? 0 : 1;
  end->bus = link == 3 ? 0x5e : 0xc4;
  strcpy(end->bus_id, link == 3 ? "00000000:5E:00.0" : "00000001:C4:00.0");
  return success;
}
