#include "host/kept_estate.h"

#include <chrono>
#include <utility>

#include "host/inheritance.h"

namespace paravane::host {
namespace {

// The holder does nothing else; the worker waits for it.
constexpr auto kPatience = std::chrono::milliseconds(10);

}  // namespace

void KeptEstate::keep(const model::AdapterName& adapter, std::span<const std::byte> state,
                      std::span<const int> descriptors) {
  put(adapter_parcel(adapter), state, descriptors);
}

void KeptEstate::drop(const model::AdapterName& adapter) {
  put(adapter_parcel(adapter), {}, {});
}

void KeptEstate::change_holder(UniqueFd line) {
  const MutexLock lock(mutex_);
  line_ = privsep::ParcelLine(std::move(line));
}

void KeptEstate::keep_file(std::string_view name, int fd) {
  put(name, {}, {&fd, 1});
}

void KeptEstate::put(std::string_view name, std::span<const std::byte> state,
                     std::span<const int> descriptors) {
  const MutexLock lock(mutex_);
  const Instant now = std::chrono::steady_clock::now();
  const Status sent = line_.send(name, state, descriptors, now + kPatience);
  if (sent) return;
  complaints_.error(now,
                    "{} cannot be kept, and is lost if the engine is killed: {}. Remedy: paravane "
                    "daemon upgrade",
                    name, sent.error().message);
}

}  // namespace paravane::host
