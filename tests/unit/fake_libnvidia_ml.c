// SPDX-License-Identifier: BSD-3-Clause
// A libnvidia-ml.so.1 for machines without a GPU: it knows the device 0000:3b:00.0, of whose nine NVLinks the third and
// the ninth are down, and 0000:5E:00.0, which has none. In their order, the others lead to NVSwitches, a GPU, a
// processor, a GPU that it does not call one, an NVSwitch that a virtual machine does not see, and nowhere.
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
int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, int* kind);

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
  if (users < 1 || device != &linked || link >= 9) return bad_argument;
  *state = link == 2 || link == 8 ? 0 : 1;
  return success;
}

static const struct {
  int kind;
  unsigned domain, bus;
} ends[9] = {{2, 1, 0xc4}, {2, 2, 0xc5}, {0, 0, 1}, {0, 0, 0x5e}, {1, 4, 4}, {255, 0, 0x86}, {255, 0xffffffff, 0xff},
             {255, 0, 0},  {0, 0, 2}};

EXPORTED int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, int* kind) {
  if (users < 1 || device != &linked || link >= 9) return bad_argument;
  *kind = ends[link].kind;
  return success;
}

EXPORTED int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, struct pci_info* end) {
  if (users < 1 || device != &linked || link >= 9) return bad_argument;
  memset(end, 0, sizeof *end);
  end->domain = ends[link].domain;
  end->bus = ends[link].bus;
  return success;
}
