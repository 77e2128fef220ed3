// SPDX-License-Identifier: BSD-3-Clause
// The C API: a Process for all contexts that the program makes, and the entry points.
#include "api/bootstrap.h"
#include "api/call.h"
#include "api/error.h"
#include "comm/stream_calls.h"
#include "comm/transports.h"

#include "base/log.h"
#include "config.h"

#include <new>

#define STRATA_EXPORT extern "C" __attribute__((visibility("default")))

/// A context of one rank needs no links.
struct strata_context {
  std::unique_ptr<strata::comm::Context> links;
  std::unique_ptr<strata::comm::Bootstrap> alone;       ///< kept for its release function
  strata::comm::Device* device = nullptr;               ///< where buffers may be; null: in the host's memory
  strata::comm::CallBuffers buffers;                    ///< of the present call of a context of one rank
  std::unique_ptr<strata::comm::StreamCalls> on_stream; ///< null: no accelerator; last, because it uses the others
};

namespace strata::api {
namespace {

struct ProcessState {
  std::vector<std::string> complaints;
  comm::Process process{options_from_environment(complaints), transport::shm::Backing::memfd,
                        comm::transports_between_nodes()};
};

/// Made at the first context. Never destroyed: peers may read this process' segment until it ends.
ProcessState& process_state() {
  static ProcessState* const only = new ProcessState;
  return *only;
}

void tell_complaints(ProcessState& state) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (const std::string& complaint : state.complaints)
    log_line(complaint);
  state.complaints.clear();
}

Status reduce_with_others(comm::Context& links, const comm::Call& call) {
  const comm::Outcome outcome = links.all_reduce(call);
  if (outcome == comm::Outcome::done) return ok();
  if (outcome == comm::Outcome::peer_lost) return Error{ErrorKind::peer, links.trouble()};
  if (const Error* why = links.why_all_native()) return *why;
  return Error{ErrorKind::resource, "no schedule could be set up for this size on all ranks (STRATA_LOG=choice tells "
                                    "why; if memory is short: STRATA_SEGMENT and STRATA_SCRATCH)"};
}

/// On the thread of the call, or on that of the calls on streams.
Status reduce(strata_context& context, const comm::Call& call) {
  if (context.links) return reduce_with_others(*context.links, call);
  if (call.output == call.input) return ok();
  const std::size_t bytes = static_cast<std::size_t>(call.elements) * type::bytes_of(call.element);
  return comm::copy_anywhere(context.device, context.buffers, call.output, call.input, bytes);
}

Status create(std::unique_ptr<comm::Bootstrap> bootstrap, strata_context& made) {
  made.device = process_state().process.device();
  if (made.device != nullptr)
    made.on_stream = std::make_unique<comm::StreamCalls>(
        *made.device, [&made](const comm::Call& call) { return reduce(made, call); });
  if (bootstrap->ranks() == 1) {
    made.alone = std::move(bootstrap);
    return ok();
  }
  ProcessState& state = process_state();
  if (bootstrap->rank() == 0) tell_complaints(state);
  auto links = comm::Context::create(state.process, std::move(bootstrap));
  if (!links) return links.error();
  made.links = std::move(*links);
  made.links->tell();
  return ok();
}

Status run(strata_context& context, const comm::Call& call) {
  if (call.elements == 0) return ok();
  if (context.on_stream)
    if (const Status before = context.on_stream->finish(); !before) return before;
  return reduce(context, call);
}

Status put(strata_context& context, const comm::Call& call, void* stream) {
  if (!context.on_stream || !context.device->in_use())
    return Error{ErrorKind::unsupported, "there is no stream: this process uses no accelerator that strata knows "
                                         "(STRATA_DEVICE, and strata-info lists what there is)"};
  if (call.elements == 0) return ok();
  if (context.links && !context.links->takes_any_thread())
    return Error{ErrorKind::unsupported,
                 "the bootstrap does not allow threads, which calls on streams need (under MPI: "
                 "MPI_THREAD_MULTIPLE)"};
  return context.on_stream->enqueue(call, stream);
}

int code_of(const Status& status) { return status ? STRATA_OK : fail(status.error()); }

} // namespace
} // namespace strata::api

STRATA_EXPORT const char* strata_version(void) { return PACKAGE_VERSION; }

STRATA_EXPORT int strata_context_create(const struct strata_bootstrap* bootstrap, strata_context_t** context) {
  using namespace strata;
  if (context == nullptr) return api::fail(ErrorKind::argument, "context is NULL");
  *context = nullptr;
  try {
    if (const Status usable = api::check(bootstrap); !usable) return api::fail(usable.error());
    std::unique_ptr<api::TableBootstrap> table(new (std::nothrow) api::TableBootstrap(*bootstrap));
    if (!table) {
      if (bootstrap->release != nullptr) bootstrap->release(bootstrap->user); // as the table would
      return api::fail_for_memory();
    }
    auto made = std::make_unique<strata_context>();
    const Status created = api::create(std::move(table), *made);
    if (!created) return api::fail(created.error());
    *context = made.release();
    return STRATA_OK;
  } catch (const std::bad_alloc&) {
    return api::fail_for_memory();
  }
}

STRATA_EXPORT void strata_context_destroy(strata_context_t* context) { delete context; }

STRATA_EXPORT int strata_allreduce(strata_context_t* context, const void* send, void* receive, size_t count,
                                   enum strata_element element, enum strata_operation operation) {
  using namespace strata;
  if (context == nullptr) return api::fail(ErrorKind::argument, "context is NULL");
  try {
    const auto call = api::checked_call(send, receive, count, element, operation);
    return call ? api::code_of(api::run(*context, *call)) : api::fail(call.error());
  } catch (const std::bad_alloc&) {
    return api::fail_for_memory();
  }
}

STRATA_EXPORT int strata_allreduce_on_stream(strata_context_t* context, const void* send, void* receive, size_t count,
                                             enum strata_element element, enum strata_operation operation,
                                             void* stream) {
  using namespace strata;
  if (context == nullptr) return api::fail(ErrorKind::argument, "context is NULL");
  try {
    const auto call = api::checked_call(send, receive, count, element, operation);
    return call ? api::code_of(api::put(*context, *call, stream)) : api::fail(call.error());
  } catch (const std::bad_alloc&) {
    return api::fail_for_memory();
  }
}

STRATA_EXPORT int strata_context_state(strata_context_t* context) {
  using namespace strata;
  if (context == nullptr) return api::fail(ErrorKind::argument, "context is NULL");
  try {
    return context->on_stream ? api::code_of(context->on_stream->state()) : STRATA_OK;
  } catch (const std::bad_alloc&) {
    return api::fail_for_memory();
  }
}
