// SPDX-License-Identifier: BSD-3-Clause
// The entry of the module cuda.so. It is made by the same compiler as the library that opens it, so that C++ objects
// may cross. The caller owns the driver.
#include "device/cuda/driver.h"

extern "C" __attribute__((visibility("default"))) strata::device::Driver*
strata_device_v1(const strata::Options* options, const std::string* faults, std::string* why_not);

strata::device::Driver* strata_device_v1(const strata::Options* options, const std::string*, std::string*) {
  return new strata::device::CudaDriver(options->device_blocks);
}
