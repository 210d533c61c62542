#include "vfio_user/function.h"

#include <utility>

namespace paravane::vfio_user {

Answer Function::write_config(std::uint64_t offset, std::span<const std::byte> in,
                              ReplyToken token) {
  const ConfigSpace::Effects effects = config_.write(offset, in);
  config_changed_ = true;
  if (effects.bus_master_moved) switch_bus_master(config_.bus_master());
  if (effects.function_reset) return reset(ResetCause::kFunctionReset, token);
  return Answer::kNow;
}

Answer Function::reset(ResetCause cause, ReplyToken token) {
  if (cause != ResetCause::kDisconnect) counters_.resets.add();
  const bool was_master = config_.bus_master();
  config_.reset();
  if (was_master) switch_bus_master(false);
  interrupts_.clear_pending();
  resetting_ = true;
  const Answer answer = device_.on_reset(cause, token);
  if (answer == Answer::kNow) answered();
  return answer;
}

void Function::answered() {
  if (std::exchange(resetting_, false)) interrupts_.clear_pending();
}

void Function::forget_vmm() {
  resetting_ = false;
  memory_.unmap_all();
  interrupts_.detach_all();
  interrupts_.clear_pending();
}

void Function::switch_bus_master(bool enabled) {
  memory_.set_dma_enabled(enabled);
  interrupts_.set_enabled(enabled);
  device_.on_bus_master(enabled);
}

}  // namespace paravane::vfio_user
