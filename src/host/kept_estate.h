// KeptEstate keeps with the holder (holder/holder.h) what the next engine needs if this one is
// killed: the same parcels as those of an upgrade (host/inheritance.h), each put anew when it
// changes.
//
// Any thread. Calls wait for the holder for a few milliseconds at most. What cannot be kept is
// logged, and lost if the engine is killed.

#pragma once

#include <string_view>

#include "base/limited_log.h"
#include "base/mutex.h"
#include "base/unique_fd.h"
#include "privsep/parcel.h"
#include "worker/port_keeper.h"

namespace paravane::host {

class KeptEstate final : public worker::PortKeeper {
 public:
  explicit KeptEstate(UniqueFd line) : line_(std::move(line)) {}

  // ---- worker::PortKeeper ----
  void keep(const model::AdapterName& adapter, std::span<const std::byte> state,
            std::span<const int> descriptors) override;
  void drop(const model::AdapterName& adapter) override;

  // The line to another holder, which has nothing yet.
  void change_holder(UniqueFd line);

  // A lock, or the socket of the API; borrowed.
  void keep_file(std::string_view name, int fd);

 private:
  void put(std::string_view name, std::span<const std::byte> state,
           std::span<const int> descriptors);

  Mutex mutex_;
  privsep::ParcelLine line_ GUARDED_BY(mutex_);
  LimitedLog complaints_ GUARDED_BY(mutex_);
};

}  // namespace paravane::host
