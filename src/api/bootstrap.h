// SPDX-License-Identifier: BSD-3-Clause
// A context's bootstrap over the program's own functions.
#pragma once

#include "comm/bootstrap.h"
#include "strata/strata.h"

namespace strata::api {

/// Whether the table can be used; the error names what is missing.
Status check(const strata_bootstrap* table);

class TableBootstrap final : public comm::Bootstrap {
public:
  explicit TableBootstrap(const strata_bootstrap& table) : table_(table) {}
  ~TableBootstrap() override;
  TableBootstrap(const TableBootstrap&) = delete;
  TableBootstrap& operator=(const TableBootstrap&) = delete;

  std::int32_t rank() const override { return table_.rank; }
  std::int32_t ranks() const override { return table_.ranks; }
  Status all_gather(const void* mine, void* all, std::size_t bytes) override;
  engine::IdleHook idle_hook() const override { return {table_.progress, table_.user}; }
  bool takes_any_thread() const override { return table_.threads != 0; }

private:
  strata_bootstrap table_;
};

} // namespace strata::api
