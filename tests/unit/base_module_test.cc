// SPDX-License-Identifier: BSD-3-Clause
#include "base/module.h"
#include "new_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace strata {
namespace {

namespace fs = std::filesystem;

/// A folder of modules: toy.so is the C library's mathematics, broken.so is no shared object.
class ModuleTest : public testing::Test {
protected:
  void SetUp() override {
    folder_ = new_folder("strata-module-test");
    options_.module_path = folder_;
    link_map* map = nullptr;
    void* const library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    ASSERT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    fs::create_symlink(map->l_name, folder_ / "toy.so");
    std::ofstream(folder_ / "broken.so") << "not an object\n";
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  Options options_;
};

TEST_F(ModuleTest, FindsASymbol) {
  const auto symbol = open_module_symbol(options_, "toy", "floor");
  ASSERT_TRUE(symbol) << symbol.error().message;
  EXPECT_EQ(reinterpret_cast<double (*)(double)>(*symbol)(2.5), 2.0);
}

TEST_F(ModuleTest, NamesTheFolderWhenTheFileIsMissing) {
  const auto symbol = open_module_symbol(options_, "absent", "x");
  ASSERT_FALSE(symbol);
  EXPECT_EQ(symbol.error().message, "module absent.so is not in " + folder_.string());
  EXPECT_EQ(symbol.error().kind, ErrorKind::unsupported);
}

TEST_F(ModuleTest, TellsTheLoadersReasonAndThePathOnce) {
  const auto symbol = open_module_symbol(options_, "broken", "x");
  ASSERT_FALSE(symbol);
  const std::string& message = symbol.error().message;
  const std::string path = (folder_ / "broken.so").string();
  EXPECT_TRUE(message.starts_with("cannot open module " + path + ": ")) << message;
  EXPECT_EQ(message.find(path), message.rfind(path)) << message;
  EXPECT_NE(message.find("file too short"), std::string::npos) << message;
}

TEST_F(ModuleTest, NamesTheSymbolThatAModuleOfAnotherVersionLacks) {
  const auto symbol = open_module_symbol(options_, "toy", "strata_no_such_v9");
  ASSERT_FALSE(symbol);
  EXPECT_NE(symbol.error().message.find("has no strata_no_such_v9"), std::string::npos) << symbol.error().message;
}

TEST_F(ModuleTest, IsSearchedBesideTheLibraryThatOpensIt) {
  using Folders = std::vector<std::string>;
  EXPECT_EQ(module_folders_beside("/opt/lib/libstrata.so.0"), Folders{"/opt/lib/strata"});
  EXPECT_EQ(module_folders_beside("/opt/lib/strata/mpi-libmpi.so.40.so"), Folders{"/opt/lib/strata"});
  EXPECT_EQ(module_folders_beside("/opt/bin/strata-info"),
            (Folders{"/opt/bin/strata", "/opt/bin/../lib/strata", "/opt/bin/../lib64/strata"}));
  EXPECT_EQ(module_folders_beside("unit-tests"), Folders{"./strata"});
}

TEST_F(ModuleTest, IsSearchedBesideThisProgramWhateverTheWorkingDirectory) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  EXPECT_EQ(module_folders(Options{}), module_folders_beside(program.string()));
}

} // namespace
} // namespace strata
