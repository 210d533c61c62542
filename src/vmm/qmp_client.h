// QmpClient sends commands to a QEMU, one after the other. It does not trust the responses. It
// waits for each response only for a limited time, and QmpReader limits the size of responses.
//
// One thread. Calls block for a bounded time.

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

  // Connects to the QMP socket in QEMU's directory. Errors: kNotFound (no listener), kIo,
  // kInvalidArgument (the response is not QMP).
  static Result<QmpClient> connect(const std::string& directory,
                                   std::chrono::milliseconds patience = kPatience);

  // Executes a command and returns its result. `descriptor` is sent with the command (for getfd);
  // the caller keeps it. Errors: kBadState with QEMU's reason, kIo, kInvalidArgument.
  Result<nlohmann::json> execute(const std::string& name,
                                 const nlohmann::ordered_json& arguments = {}, int descriptor = -1);

 private:
  explicit QmpClient(UniqueFd line, std::chrono::milliseconds patience)
      : line_(std::move(line)), patience_(patience) {}

  Status send(const std::string& text, int descriptor, Clock::time_point end);
  Status wait(short events, Clock::time_point end);
  // Returns the next message that is not an event.
  Result<QmpMessage> receive(Clock::time_point end);

  UniqueFd line_;
  std::chrono::milliseconds patience_;
  QmpReader reader_;
};

}  // namespace paravane::vmm
