#include "vfio_user/lost_configuration.h"

#include <type_traits>
#include <utility>

namespace paravane::vfio_user {
namespace {

// Of a PC. Its RAM begins at 0.
constexpr GuestAddr kFirmwareArea{0xC0000};
constexpr std::uint64_t kFirmwareBytes = 0x40000;

}  // namespace

void LostConfiguration::look(Command command, bool memory_is_private, Instant now) {
  if (command == Command::kReset) {
    forget();
    stage_ = Stage::kReset;
    return;
  }
  if (stage_ == Stage::kSettled) return;
  if (config_.has_address()) return forget();
  if (command != Command::kDmaMap || stage_ == Stage::kLost) return;
  memory_is_private_ = memory_is_private;
  mapped_at_ = now;
  if (stage_ == Stage::kReset) wait_until(now + kPatience);
}

void LostConfiguration::forget() {
  timers_.cancel(std::exchange(timer_, TimerId::kNone));
  stage_ = Stage::kSettled;
}

// One timer, however often the map changes.
void LostConfiguration::wait_until(Instant due) {
  timer_ = timers_.set(due, [this](Instant now) { judge(now); });
  stage_ = Stage::kMapped;
}

void LostConfiguration::judge(Instant now) {
  timer_ = TimerId::kNone;
  if (now < mapped_at_ + kPatience) return wait_until(mapped_at_ + kPatience);
  stage_ = map_is_of_a_reset() ? Stage::kReset : Stage::kLost;
}

bool LostConfiguration::map_is_of_a_reset() const {
  if (memory_is_private_) return true;
  return memory_.shows_file(GuestAddr{0}, kPageBytes) &&
         !memory_.shows_file(kFirmwareArea, kFirmwareBytes) && !memory_.shows_device_memory();
}

void LostConfiguration::save(state::Writer& out, state::Tag tag) const {
  if (stage_ != Stage::kSettled) out.choice(tag, stage_);
}

void LostConfiguration::load(state::Reader& in, state::Tag tag, bool memory_is_private,
                             Instant now) {
  const auto stage = in.number_if(tag, std::to_underlying(Stage::kLost));
  stage_ = static_cast<Stage>(stage.value_or(0));
  if (stage_ != Stage::kMapped) return;
  memory_is_private_ = memory_is_private;
  mapped_at_ = now;
  wait_until(now + kPatience);
}

}  // namespace paravane::vfio_user
