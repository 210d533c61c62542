// The interface between the command channel and the functions that carry out commands (handlers).
// It defines what a handler receives and how it responds.
//
// A handler receives a copy of the request, which the guest cannot change any more. All bytes after
// the command's own struct are zero. The handler fills the body of a zeroed response, and the
// channel fills the header. A handler that fails must not have changed anything.
//
// Owner thread only.

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
class KernelJournal;
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

// LongCommand: a command that takes more than one turn. Destroying it undoes what it has done so
// far.
class LongCommand {
 public:
  virtual ~LongCommand() = default;
  // Does one slice of the work.
  virtual Result<Progress> advance(Response& response) = 0;
};

struct CommandScope {
  const DeviceConfig& config;
  const DeviceRules& rules;
  GuestMemory& memory;
  verbs::Adapter& adapter;
  Objects& objects;
  KernelJournal* journal;  // of what the guest's kernel creates; null: none
  TurnEffort& effort;
  CompletionSink& completion_sink;
  SharedReceiveEvents& shared_receive_events;
  DeviceCounters& counters;
  const SharedRegion& region;
  const bool& link_up;  // of the port
  const std::uint32_t& active_mtu;
  Instant now;
  std::unique_ptr<LongCommand>* later;  // the rest, from a handler that returns kLater
};

using CommandHandler = Result<Progress> (*)(CommandScope&, const Request&, Response&);
// Undoes a command that has succeeded. The response tells what it created.
using CommandUndo = void (*)(CommandScope&, const Response&);

}  // namespace paravane::device
