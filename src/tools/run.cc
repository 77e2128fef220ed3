// SPDX-License-Identifier: BSD-3-Clause
// strata-run: starts a program with strata preloaded. Its own flags end at the program's name, so that the program's
// are never taken for its own.
#include "tools/run_environment.h"

#include "config.h"

#include <cstdio>
#include <string_view>

#include <unistd.h>

namespace {

constexpr int bad_usage = 2, cannot_start = 126, not_found = 127;

constexpr const char* usage = R"(usage: strata-run [--library FILE] PROGRAM [ARGUMENT...]

Starts PROGRAM with libstrata-mpi.so preloaded: in an MPI program, MPI_Allreduce then runs over the hierarchy of
links. Under a launcher it stands in front of the program:

  mpirun -n 4 strata-run ./application

  --library FILE   preload this library; the one of this installation without it
  --help           show this text
  --version        show the version
)";

int complain(const std::string& line, int status) {
  std::fprintf(stderr, "strata-run: %s\n", line.c_str());
  return status;
}

int run_program(const std::string& library, char** arguments) {
  std::string path = library;
  if (path.empty()) {
    const auto found = strata::tools::preload_library();
    if (!found) return complain(found.error().message, cannot_start);
    path = *found;
  } else if (access(path.c_str(), R_OK) != 0) {
    return complain("cannot read the library " + path, bad_usage);
  }
  strata::tools::preload(path);
  const strata::Error error = strata::tools::start(*arguments, arguments);
  return complain(error.message, error.kind == strata::ErrorKind::argument ? not_found : cannot_start);
}

} // namespace

int main(int count, char** arguments) {
  std::string library;
  int next = 1;
  for (; next < count && arguments[next][0] == '-'; ++next) {
    const std::string_view flag = arguments[next];
    if (flag == "--help" || flag == "-h") return std::fputs(usage, stdout) < 0 ? 1 : 0;
    if (flag == "--version") return std::puts("strata-run " PACKAGE_VERSION) < 0 ? 1 : 0;
    if (flag == "--") {
      ++next;
      break;
    }
    if (flag.starts_with("--library=")) {
      library = flag.substr(flag.find('=') + 1);
    } else if (flag == "--library" && next + 1 < count) {
      library = arguments[++next];
    } else {
      return complain(flag == "--library" ? "--library needs a file"
                                          : std::string(flag) + " is not known; see strata-run --help",
                      bad_usage);
    }
  }
  if (next >= count) return complain("no program; see strata-run --help", bad_usage);
  return run_program(library, arguments + next);
}
