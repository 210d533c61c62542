#include "host_verbs/service_adapter.h"

#include <cassert>
#include <utility>

#include "guestmem/page_list.h"

namespace paravane::host_verbs {
namespace {

// Indices of the two GIDs.
constexpr std::uint8_t kVersion2 = 0;
constexpr std::uint8_t kVersion1 = 1;

}  // namespace

Result<std::unique_ptr<ServiceAdapter>> ServiceAdapter::make(
    verbs::AdapterId id, const Limits& limits, ServiceMemory& memory, TimerQueue& timers,
    std::unique_ptr<verbs::FabricPort> fabric, const verbs::Gid& gid) {
  std::unique_ptr<ServiceAdapter> made(new ServiceAdapter(memory, gid));
  if (Status shown = memory.show_in(made->shown_); !shown) return std::unexpected(shown.error());
  made->fabric_ = std::move(fabric);
  made->adapter_ =
      std::make_unique<verbs::Adapter>(id,
                                       verbs::AdapterLimits{.queue_pairs = limits.queue_pairs,
                                                            .memory_regions = limits.lent,
                                                            .protection_domains = 2,
                                                            .gids = 2},
                                       made->shown_, timers, *made->fabric_, made->events_);
  made->adapter_->choose_numbers_after(limits.queue_pairs_after);
  const auto pd = made->adapter_->create_pd();
  if (!pd) return std::unexpected(pd.error());
  made->pd_ = *pd;
  const auto key = made->adapter_->regions().add_dma(made->pd_, verbs::kAccessLocalWrite);
  if (!key) return std::unexpected(key.error());
  made->local_key_ = *key;
  for (std::uint32_t index = 0; index < 2; ++index) {
    const auto type = index == kVersion2 ? verbs::GidType::kRoceV2 : verbs::GidType::kRoceV1;
    if (Status bound = made->adapter_->bind_gid(index, gid, type); !bound) {
      return std::unexpected(bound.error());
    }
  }
  return made;
}

std::uint8_t ServiceAdapter::gid_index(const verbs::Gid& peer) const {
  const bool is_version1 =
      !fabric_->find(peer, verbs::GidType::kRoceV2) && fabric_->find(peer, verbs::GidType::kRoceV1);
  return is_version1 ? kVersion1 : kVersion2;
}

Result<std::uint32_t> ServiceAdapter::lend(std::uint32_t payload, std::uint32_t length,
                                           verbs::AccessMask rights) {
  assert(length > 0 && length <= ServiceMemory::kPayloadBytes);
  auto pages = PageList::from_directory(shown_, memory_.payload_directory(payload),
                                        (std::uint64_t{length} + kPageBytes - 1) / kPageBytes,
                                        Rights::kReadWrite);
  if (!pages) return std::unexpected(pages.error());
  return adapter_->regions().add_user(pd_, memory_.payload(payload).value, length,
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
