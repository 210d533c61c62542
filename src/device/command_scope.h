// The context of a command handler, and how it answers.
//
// A handler gets a copy of the request that the guest can no longer change, with every byte behind
// the command's own struct zeroed. It fills the body of a zeroed response; the channel fills the
// header. It changes nothing unless it succeeds.

#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

#include "abi/commands.h"
#include "abi/responses.h"
#include "base/instant.h"
#include "base/result.h"
#include "device/device_config.h"
#include "device/shared_region.h"
#include "guestmem/guest_memory.h"
#include "verbs/adapter.h"

namespace paravane::device {

class CompletionSink;
class Objects;
class SharedReceiveEvents;
class TurnEffort;
struct DeviceCounters;

struct Request {
  std::array<std::byte, abi::kRequestBytes> bytes{};

  template <typename Command>
  Command as() const {
    static_assert(std::is_trivially_copyable_v<Command> && sizeof(Command) <= abi::kRequestBytes);
    Command command;
    std::memcpy(&command, bytes.data(), sizeof(command));
    return command;
  }
};

struct Response {
  std::array<std::byte, abi::kResponseBytes> bytes{};

  template <typename Answer>
  Answer as() const {
    static_assert(std::is_trivially_copyable_v<Answer> && sizeof(Answer) <= abi::kResponseBytes);
    Answer answer;
    std::memcpy(&answer, bytes.data(), sizeof(answer));
    return answer;
  }
  template <typename Answer>
  void set(const Answer& answer) {
    static_assert(std::is_trivially_copyable_v<Answer> && sizeof(Answer) <= abi::kResponseBytes);
    std::memcpy(bytes.data(), &answer, sizeof(answer));
  }
};

enum class Progress : std::uint8_t { kDone, kLater };

// A command that takes more than a turn. Dropping it leaves nothing behind.
class LongCommand {
 public:
  virtual ~LongCommand() = default;
  // One slice of work.
  virtual Result<Progress> advance(Response& response) = 0;
};

struct CommandScope {
  const DeviceConfig& config;
  const DeviceRules& rules;
  GuestMemory& memory;
  verbs::Adapter& adapter;
  Objects& objects;
  TurnEffort& effort;
  CompletionSink& completion_sink;
  SharedReceiveEvents& shared_receive_events;
  DeviceCounters& counters;
  const SharedRegion& region;
  const bool& link_up;  // of the port
  Instant now;
  std::unique_ptr<LongCommand>* later;  // where a handler that says kLater leaves the rest
};

using CommandHandler = Result<Progress> (*)(CommandScope&, const Request&, Response&);
// Undoes a command that succeeded, given its response.
using CommandUndo = void (*)(CommandScope&, const Response&);

}  // namespace paravane::device
