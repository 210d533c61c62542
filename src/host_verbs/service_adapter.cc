#include "host_verbs/service_adapter.h"

#include <cassert>
#include <utility>

#include "base/undo.h"
#include "guestmem/page_list.h"
#include "verbs/grh.h"
#include "verbs/transport.h"

namespace paravane::host_verbs {
namespace {

// Indices of GIDs.
constexpr std::uint8_t kVersion2 = 0;
constexpr std::uint8_t kVersion1 = 1;
constexpr std::uint8_t kIpv4 = 2;
constexpr std::uint8_t kHopLimit = 64;
// Beside those of queue pairs: the adapter's.
constexpr std::uint32_t kMoreDomains = 1;

}  // namespace

Result<std::unique_ptr<ServiceAdapter>> ServiceAdapter::make(
    verbs::AdapterId id, const Limits& limits, ServiceMemory& memory, TimerQueue& timers,
    std::unique_ptr<verbs::FabricPort> fabric, const Gids& gids) {
  std::unique_ptr<ServiceAdapter> made(new ServiceAdapter(memory, gids));
  if (Status shown = memory.show_in(made->shown_); !shown) return std::unexpected(shown.error());
  made->fabric_ = std::move(fabric);
  made->adapter_ = std::make_unique<verbs::Adapter>(
      id,
      verbs::AdapterLimits{.queue_pairs = limits.queue_pairs,
                           .memory_regions = limits.lent,
                           .protection_domains = limits.queue_pairs + kMoreDomains,
                           .gids = 3},
      made->shown_, timers, *made->fabric_, made->events_);
  made->adapter_->choose_numbers_after(limits.queue_pairs_after);
  const auto domain = made->make_domain();
  if (!domain) return std::unexpected(domain.error());
  made->pd_ = domain->pd;
  made->local_key_ = domain->local_key;
  Status bound = made->adapter_->bind_gid(kVersion2, gids.own, verbs::GidType::kRoceV2);
  if (bound) bound = made->adapter_->bind_gid(kVersion1, gids.own, verbs::GidType::kRoceV1);
  if (!bound) return std::unexpected(bound.error());
  static_cast<void>(made->bind_ipv4());
  return made;
}

Status ServiceAdapter::bind_ipv4() {
  if (!gids_.ipv4 || has_ipv4_) return {};
  Status bound = adapter_->bind_gid(kIpv4, *gids_.ipv4, verbs::GidType::kRoceV2);
  has_ipv4_ = bound.has_value();
  return bound;
}

const verbs::Gid& ServiceAdapter::gid_towards(const verbs::Gid& peer) const {
  return gid_index(peer) == kIpv4 ? *gids_.ipv4 : gids_.own;
}

std::optional<ServiceAdapter::Way> ServiceAdapter::way_to(const verbs::Gid& peer) const {
  Way way{.address = {.dgid = peer, .sgid_index = gid_index(peer), .hop_limit = kHopLimit}};
  const auto type =
      way.address.sgid_index == kVersion1 ? verbs::GidType::kRoceV1 : verbs::GidType::kRoceV2;
  const auto path = fabric_->find(peer, type);
  way.has_packets = path && path->transport->has_packets();
  if (!way.has_packets) return way;
  const auto mac = neighbours_ != nullptr ? neighbours_->mac_of(peer) : std::nullopt;
  if (!mac) return std::nullopt;
  way.address.dmac = *mac;
  return way;
}

std::uint8_t ServiceAdapter::gid_index(const verbs::Gid& peer) const {
  if (has_ipv4_ && verbs::is_ipv4_mapped(peer)) return kIpv4;
  const bool is_version1 =
      !fabric_->find(peer, verbs::GidType::kRoceV2) && fabric_->find(peer, verbs::GidType::kRoceV1);
  return is_version1 ? kVersion1 : kVersion2;
}

Result<ServiceAdapter::Domain> ServiceAdapter::make_domain() {
  const auto pd = adapter_->create_pd();
  if (!pd) return std::unexpected(pd.error());
  Undo forget([&] { static_cast<void>(adapter_->destroy_pd(*pd)); });
  const auto key = adapter_->regions().add_dma(*pd, verbs::kAccessLocalWrite);
  if (!key) return std::unexpected(key.error());
  forget.keep();
  return Domain{.pd = *pd, .local_key = *key};
}

void ServiceAdapter::end_domain(const Domain& domain) {
  while (const auto key = adapter_->regions().any_in(domain.pd)) end_loan(*key);
  [[maybe_unused]] const Status ended = adapter_->destroy_pd(domain.pd);
  assert(ended);
}

Result<std::uint32_t> ServiceAdapter::lend(std::uint32_t payload, std::uint32_t length,
                                           verbs::AccessMask rights) {
  return lend(payload, length, rights, pd_);
}

Result<std::uint32_t> ServiceAdapter::lend(std::uint32_t payload, std::uint32_t length,
                                           verbs::AccessMask rights, verbs::PdNumber to) {
  assert(length > 0 && length <= ServiceMemory::kPayloadBytes);
  auto pages = PageList::from_directory(shown_, memory_.payload_directory(payload),
                                        (std::uint64_t{length} + kPageBytes - 1) / kPageBytes,
                                        Rights::kReadWrite);
  if (!pages) return std::unexpected(pages.error());
  return adapter_->regions().add_user(to, memory_.payload(payload).value, length,
                                      rights | verbs::kAccessLocalWrite, std::move(*pages));
}

void ServiceAdapter::end_loan(std::uint32_t key) {
  [[maybe_unused]] const Status removed = adapter_->regions().remove(key);
  assert(removed);
}

void ServiceAdapter::EventRouter::set(std::uint32_t tag, OnEvent act) {
  if (act) {
    acts_.insert_or_assign(tag, std::move(act));
  } else {
    acts_.erase(tag);
  }
}

void ServiceAdapter::EventRouter::on_qp_event(std::uint32_t tag, verbs::QpEvent event) {
  const auto found = acts_.find(tag);
  if (found != acts_.end()) found->second(event);
}

}  // namespace paravane::host_verbs
