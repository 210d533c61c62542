#include <fmt/core.h>

#include <optional>
#include <utility>

#include "device/commands/handlers.h"
#include "device/commands/page_list.h"
#include "device/objects.h"
#include "device/pvrdma_device.h"
#include "device/queues/queue_geometry.h"

namespace paravane::device {
namespace {

std::optional<verbs::QpType> qp_type(std::uint8_t code) {
  switch (code) {
    case abi::kQpTypeGsi: return verbs::QpType::kGeneralServices;
    case abi::kQpTypeRc: return verbs::QpType::kReliableConnected;
    case abi::kQpTypeUd: return verbs::QpType::kUnreliableDatagram;
    default: return std::nullopt;
  }
}

// The objects that the queue pair names, all of one context.
Result<QueuePair::Spec> find_parts(const Objects& objects, const abi::CreateQpCommand& command) {
  const std::uint32_t pd = command.pd_handle.get();
  if (!objects.has_pd(pd)) return fail(Errc::kNotFound, "no such protection domain");
  CompletionQueue* send_cq = objects.find_cq(command.send_cq_handle.get());
  CompletionQueue* receive_cq = objects.find_cq(command.recv_cq_handle.get());
  if (send_cq == nullptr || receive_cq == nullptr) {
    return fail(Errc::kNotFound, "no such completion queue");
  }
  const std::uint32_t context = objects.owner_of_pd(pd);
  if (send_cq->context() != context || receive_cq->context() != context) {
    return fail(Errc::kInvalidArgument, "the completion queue belongs to another context");
  }
  SharedReceiveQueue* shared = nullptr;
  if (command.is_srq != 0) {
    shared = objects.find_srq(command.srq_handle.get());
    if (shared == nullptr) return fail(Errc::kNotFound, "no such shared receive queue");
    if (shared->context() != context) {
      return fail(Errc::kInvalidArgument, "the shared receive queue belongs to another context");
    }
  }
  QueuePair::Spec spec;
  spec.context = context;
  spec.protection_domain = pd;
  spec.send_cq = send_cq;
  spec.receive_cq = receive_cq;
  spec.shared_receives = shared;
  return spec;
}

Status check_rules(const CommandScope& scope, verbs::QpType type) {
  const std::uint32_t most = scope.rules.datagram_queue_pairs;
  const bool fits = type != verbs::QpType::kUnreliableDatagram || most == 0 ||
                    scope.objects.datagram_qps() < most;
  if (fits) return {};
  return fail(Errc::kResourceExhausted,
              fmt::format("too many UD queue pairs: the limit per adapter is {}", most));
}

abi::QpGrant granted(const QueueCaps& caps) {
  abi::QpGrant grant{};
  grant.max_send_wr.set(caps.send_requests);
  grant.max_recv_wr.set(caps.receive_requests);
  grant.max_send_sge.set(caps.send_sges);
  grant.max_recv_sge.set(caps.receive_sges);
  return grant;
}

void answer(const Objects& objects, const QueuePair& qp, Response& response) {
  if (objects.number_is_handle()) {
    abi::CreateQpResponseV1 v1{};
    v1.qpn.set(qp.engine().number());
    v1.grant = granted(qp.caps());
    response.set(v1);
  } else {
    abi::CreateQpResponseV2 v2{};
    v2.qpn.set(qp.engine().number());
    v2.qp_handle.set(qp.handle());
    v2.grant = granted(qp.caps());
    response.set(v2);
  }
}

// What the queue pair is to be, by what is there now.
Result<QueuePair::Spec> make_spec(const CommandScope& scope, const abi::CreateQpCommand& command) {
  const std::optional<verbs::QpType> type = qp_type(command.qp_type);
  if (!type)
    return fail(Errc::kUnsupported, fmt::format("unsupported queue pair type {}", command.qp_type));
  if (Status fits = check_rules(scope, *type); !fits) return std::unexpected(fits.error());
  Result<QueuePair::Spec> spec = find_parts(scope.objects, command);
  if (!spec) return std::unexpected(spec.error());
  if (*type == verbs::QpType::kGeneralServices && spec->context != kKernelContext) {
    return fail(Errc::kInvalidArgument, "the GSI queue pair belongs to the guest's kernel");
  }
  spec->type = *type;
  spec->directory = {command.pdir_dma.get()};
  spec->atomics = scope.rules.atomics;
  spec->caps = {.send_requests = command.max_send_wr.get(),
                .send_sges = static_cast<std::uint8_t>(command.max_send_sge.get())};
  if (spec->shared_receives == nullptr) {
    spec->caps.receive_requests = command.max_recv_wr.get();
    spec->caps.receive_sges = static_cast<std::uint8_t>(command.max_recv_sge.get());
  }
  return spec;
}

Result<Progress> finish(CommandScope& scope, const QueuePair::Spec& spec,
                        const abi::CreateQpCommand& command, const QueueGeometry& geometry,
                        PageList pages, Response& response) {
  const Result<QueuePair*> qp = scope.objects.create_qp(
      spec, std::move(pages), geometry, command.sq_sig_all != 0, scope.counters.broken_rings);
  if (!qp) return std::unexpected(qp.error());
  answer(scope.objects, **qp, response);
  return Progress::kDone;
}

}  // namespace

Result<Progress> create_qp(CommandScope& scope, const Request& request, Response& response) {
  const auto command = request.as<abi::CreateQpCommand>();
  const Result<QueueGeometry> geometry = queue_geometry(command, scope.config.limits);
  if (!geometry) return std::unexpected(geometry.error());
  const Result<QueuePair::Spec> spec = make_spec(scope, command);
  if (!spec) return std::unexpected(spec.error());
  std::optional<PageListBuilder> builder;
  const WantedPages wanted{.directory = {command.pdir_dma.get()}, .pages = geometry->pages};
  Result<std::optional<PageList>> list = start_list(scope, wanted, builder);
  if (!list) return std::unexpected(std::move(list).error());
  if (*list) return finish(scope, *spec, command, *geometry, std::move(**list), response);
  finish_later(
      scope, std::move(*builder),
      [&scope, command, geometry = *geometry](PageList pages, Response& done) -> Result<Progress> {
        const Result<QueuePair::Spec> by_now = make_spec(scope, command);
        if (!by_now) return std::unexpected(by_now.error());
        return finish(scope, *by_now, command, geometry, std::move(pages), done);
      });
  return Progress::kLater;
}

Result<Progress> destroy_qp(CommandScope& scope, const Request& request, Response&) {
  const Status gone = scope.objects.destroy_qp(request.as<abi::HandleCommand>().handle.get());
  if (!gone) return std::unexpected(gone.error());
  return Progress::kDone;
}

void undo_create_qp(CommandScope& scope, const Response& response) {
  const std::uint32_t handle = scope.objects.number_is_handle()
                                   ? response.as<abi::CreateQpResponseV1>().qpn.get()
                                   : response.as<abi::CreateQpResponseV2>().qp_handle.get();
  static_cast<void>(scope.objects.destroy_qp(handle));
}

}  // namespace paravane::device
