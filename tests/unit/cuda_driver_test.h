// SPDX-License-Identifier: BSD-3-Clause
// The module cuda.so over a libcuda of the tests' own, for the tests of device_cuda_*_test.cc.
#pragma once

#include "device/driver.h"
#include "device/loader.h"
#include "fake_libcuda.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include <dlfcn.h>

namespace strata::device {

/// What cuda.h calls CUDA_ERROR_…, and a code that no driver knows.
inline constexpr int out_of_memory = 2, invalid_value = 1, invalid_device = 101, unsupported_ptx = 222,
                     uncorrectable = 214, illegal_address = 700, out_of_resources = 701, context_destroyed = 709,
                     too_many_peers = 711, unknown_code = 1001; // no code, but one that the enumeration can hold

inline std::string folder_of_build() { return std::filesystem::read_symlink("/proc/self/exe").parent_path(); }

inline Options with_modules_of_this_build() {
  Options options;
  options.module_path = folder_of_build() + "/lib/strata";
  return options;
}

/// What the program links to: a libcuda.so.1 in the process.
class LoadedLibcuda {
public:
  explicit LoadedLibcuda(const std::string& file = "tests/unit/libcuda.so.1") : file_(file) { load(); }
  ~LoadedLibcuda() { close(); }
  LoadedLibcuda(const LoadedLibcuda&) = delete;
  LoadedLibcuda& operator=(const LoadedLibcuda&) = delete;
  void load() { library_ = dlopen((folder_of_build() + "/" + file_).c_str(), RTLD_NOW | RTLD_LOCAL); }
  void close() {
    if (library_ != nullptr) dlclose(library_);
    library_ = nullptr;
  }
  fake_libcuda* control() const {
    return library_ == nullptr ? nullptr : static_cast<fake_libcuda*>(dlsym(library_, "fake_libcuda"));
  }
  /// One of its calls, as a program makes it; the names are those of the library, with their versions.
  template <typename... Arguments>
  int call(const char* name, Arguments... arguments) const {
    const auto found = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    return found == nullptr ? -1 : found(arguments...);
  }

private:
  const std::string file_;
  void* library_ = nullptr;
};

class CudaDriverTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_NE(libcuda_.control(), nullptr) << "make check builds tests/unit/libcuda.so.1";
    cuda().reset();
    open(with_modules_of_this_build());
  }
  void TearDown() override {
    driver_.reset();
    if (libcuda_.control() == nullptr) return;
    cuda().failing = nullptr;
    EXPECT_EQ(cuda().current(), nullptr) << "a context was left current";
    cuda().reset();
  }
  void open(const Options& options) {
    auto opened = open_driver(options);
    ASSERT_TRUE(opened) << opened.error().message;
    driver_ = std::move(*opened);
  }
  fake_libcuda& cuda() { return *libcuda_.control(); }
  unsigned calls(const char* name) { return cuda().calls(name); }

  LoadedLibcuda libcuda_;
  std::unique_ptr<Driver> driver_;
};

} // namespace strata::device
