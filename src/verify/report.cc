// SPDX-License-Identifier: BSD-3-Clause
#include "verify/report.h"

#include <fmt/format.h>

namespace strata::verify {

std::string short_name_of(const sched::Program& program, sched::StepIndex step) {
  return fmt::format("rank {} step {}", program.rank, step);
}

std::string name_of(const sched::Program& program, sched::StepIndex step) {
  constexpr std::size_t longest = 100; // a reduce of 64 ranks would fill several lines
  std::string text = sched::to_text(program.steps[static_cast<std::size_t>(step)]);
  if (text.size() > longest) text = text.substr(0, longest) + " …";
  return fmt::format("{} ({})", short_name_of(program, step), text);
}

Error refusal(const sched::Program& program, sched::StepIndex step, const std::string& reason) {
  return {ErrorKind::argument, fmt::format("{}: {}", name_of(program, step), reason)};
}

} // namespace strata::verify
