// QmpClient: sends commands to a QEMU, one after the other. It trusts no response: the time for
// each is limited, and QmpReader limits the size.
//
// Blocks, for a bounded time. One thread.

#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "vmm/qmp_reader.h"

namespace paravane::vmm {

class QmpClient {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPatience{10};

  // At the QMP socket in QEMU's directory. Errors: kNotFound (no listener), kIo,
  // kInvalidArgument (what answers is not QMP).
  static Result<QmpClient> connect(const std::string& directory,
                                   std::chrono::milliseconds patience = kPatience);

  // What the command returns. A descriptor goes along with it (getfd) and stays the
  // caller's. Errors: kBadState with QEMU's reason, kIo, kInvalidArgument.
  Result<nlohmann::json> execute(const std::string& name,
                                 const nlohmann::ordered_json& arguments = {}, int descriptor = -1);

 private:
  explicit QmpClient(UniqueFd line, std::chrono::milliseconds patience)
      : line_(std::move(line)), patience_(patience) {}

  Status send(const std::string& text, int descriptor, Clock::time_point end);
  Status wait(short events, Clock::time_point end);
  // The next that is no event.
  Result<QmpMessage> receive(Clock::time_point end);

  UniqueFd line_;
  std::chrono::milliseconds patience_;
  QmpReader reader_;
};

}  // namespace paravane::vmm
