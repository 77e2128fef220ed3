// SPDX-License-Identifier: BSD-3-Clause
#include "api/bootstrap.h"

#include <fmt/format.h>

namespace strata::api {

Status check(const strata_bootstrap* table) {
  if (table == nullptr) return argument_error("bootstrap is NULL");
  if (table->ranks < 1)
    return argument_error(fmt::format("bootstrap->ranks is {}, but must be at least 1", table->ranks));
  if (table->rank < 0 || table->rank >= table->ranks)
    return argument_error(fmt::format("bootstrap->rank is {}, but must be 0 to {}", table->rank, table->ranks - 1));
  if (table->all_gather == nullptr && table->ranks > 1) return argument_error("bootstrap->all_gather is NULL");
  return ok();
}

TableBootstrap::~TableBootstrap() {
  if (table_.release != nullptr) table_.release(table_.user);
}

Status TableBootstrap::all_gather(const void* mine, void* all, std::size_t bytes) {
  const int code = table_.all_gather(table_.user, mine, all, bytes);
  if (code == 0) return ok();
  return Error{ErrorKind::peer, fmt::format("the bootstrap's all_gather of {} bytes returned {}", bytes, code)};
}

} // namespace strata::api
