#include "verbs/adapter.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <random>
#include <utility>

#include "base/undo.h"
#include "verbs/queue_pair_impl.h"

namespace paravane::verbs {
namespace {

// What one queue pair may do before the next one's turn.
constexpr std::int32_t kTurnOperations = 64;
constexpr std::int64_t kTurnBytes = std::int64_t{256} * 1024;

// Numbers 0 (reserved) and 1 (GSI) are reserved for these.
constexpr std::uint32_t kFirstNumber = 2;

std::uint64_t random_bits() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

}  // namespace

Adapter::Adapter(AdapterId id, const AdapterLimits& limits, GuestMemory& memory, TimerQueue& timers,
                 FabricPort& fabric, QpEvents& events)
    : id_(id),
      limits_(limits),
      memory_(memory),
      timers_(timers),
      fabric_(fabric),
      events_(events),
      regions_(memory, limits.memory_regions),
      gids_(fabric, limits.gids),
      pd_numbers_(0, limits.protection_domains),
      qps_by_slot_(std::bit_ceil(std::size_t{limits.queue_pairs} + kFirstNumber)),
      qp_cursor_(kFirstNumber - 1),
      first_life_{.high = random_bits() | 1, .low = random_bits()} {}

Adapter::~Adapter() {
  assert(qp_count_ == 0);
}

Result<PdNumber> Adapter::create_pd() {
  const std::optional<std::uint32_t> number = pd_numbers_.take();
  if (!number) return fail(Errc::kResourceExhausted, "too many protection domains");
  Undo untake([&] { pd_numbers_.give_back(*number); });
  if (*number >= pds_.size()) pds_.resize(*number + 1);
  untake.keep();
  pds_[*number] = PdEntry{.exists = true};
  return PdNumber{*number};
}

Status Adapter::destroy_pd(PdNumber pd) {
  if (!has_pd(pd)) return fail(Errc::kNotFound, "no such protection domain");
  PdEntry& entry = pds_[std::to_underlying(pd)];
  if (entry.queue_pairs > 0 || regions_.any_in(pd)) {
    return fail(Errc::kBadState, "the protection domain is in use");
  }
  entry = PdEntry{};
  pd_numbers_.give_back(std::to_underlying(pd));
  return {};
}

bool Adapter::has_pd(PdNumber pd) const {
  return std::to_underlying(pd) < pds_.size() && pds_[std::to_underlying(pd)].exists;
}

Result<std::unique_ptr<QueuePair>> Adapter::create_qp(const QueuePairSpec& spec) {
  if (!has_pd(spec.pd)) return fail(Errc::kNotFound, "no such protection domain");
  if (qp_count_ >= limits_.queue_pairs) {
    return fail(Errc::kResourceExhausted, "too many queue pairs");
  }
  const Result<std::uint32_t> number = choose_number(spec);
  if (!number) return std::unexpected(number.error());
  QueuePairSpec numbered = spec;
  numbered.number = *number;
  auto qp = std::make_unique<QueuePair::Whole>(*this, numbered);
  qps_by_slot_[slot_of(*number)] = qp.get();
  ++pds_[std::to_underlying(spec.pd)].queue_pairs;
  ++qp_count_;
  return qp;
}

// A queue pair is found by the low bits of its number, so two numbers with the
// same low bits cannot live at once; there are more slots than queue pairs.
Result<std::uint32_t> Adapter::choose_number(const QueuePairSpec& spec) {
  const bool is_gsi = spec.type == QpType::kGeneralServices;
  if (spec.number != 0 || is_gsi) {
    const std::uint32_t number = is_gsi && spec.number == 0 ? kGsiQpNumber : spec.number;
    if (is_gsi != (number == kGsiQpNumber) || number > kQpNumberMask) {
      return fail(Errc::kInvalidArgument, "a queue pair of this type cannot have that number");
    }
    if (qps_by_slot_[slot_of(number)] != nullptr) {
      return fail(Errc::kBadState, "the queue pair number is in use");
    }
    return number;
  }
  for (std::size_t tried = 0; tried < 2 * qps_by_slot_.size(); ++tried) {
    qp_cursor_ = qp_cursor_ >= kQpNumberMask - 1 ? kFirstNumber : qp_cursor_ + 1;
    const std::size_t slot = slot_of(qp_cursor_);
    if (slot >= kFirstNumber && qps_by_slot_[slot] == nullptr) return qp_cursor_;
  }
  return fail(Errc::kResourceExhausted, "no queue pair number is free");
}

QueuePair* Adapter::find_qp(std::uint32_t number) const {
  QueuePair* qp = qps_by_slot_[slot_of(number)];
  return qp != nullptr && qp->number() == number && !closed_ ? qp : nullptr;
}

void Adapter::forget(QueuePair& qp) {
  qps_by_slot_[slot_of(qp.number())] = nullptr;
  --pds_[std::to_underlying(qp.spec().pd)].queue_pairs;
  --qp_count_;
  ready_.leave(qp.impl_->scheduled);
}

void Adapter::run(Instant now, Budget& budget) {
  if (settled_at_ == kNever) settled_at_ = now + kSettling;
  while (!budget.spent() && !closed_) {
    QueuePair* qp = ready_.call();
    if (qp == nullptr) return;
    const Budget whole{.bytes = std::min(budget.bytes, kTurnBytes),
                       .operations = std::min(budget.operations, kTurnOperations)};
    Budget slice = whole;
    const bool more = qp->run(now, slice);
    budget.bytes -= whole.bytes - slice.bytes;
    // A look at an empty ring costs as well.
    budget.operations -= std::max(whole.operations - slice.operations, 1);
    if (more) qp->kick();
  }
}

}  // namespace paravane::verbs
