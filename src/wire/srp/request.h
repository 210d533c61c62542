// Defines the IUs that ask something of a target (r16a, 6.5 to 6.8): commands, task management, the
// logout; and the descriptor that names memory.
//
// Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"
#include "wire/srp/opcode.h"

namespace paravane::wire::srp {

struct DirectDescriptor {
  Be64 address{};
  Be32 key{};
  Be32 bytes{};
};
static_assert(sizeof(DirectDescriptor) == 16);

enum class TaskAttribute : std::uint8_t { kSimple = 0, kHeadOfQueue = 1, kOrdered = 2, kAca = 4 };

struct Command {  // 6.8; descriptors follow: those of data-out, then those of data-in
  std::uint8_t opcode = static_cast<std::uint8_t>(Opcode::kCommand);
  std::uint8_t solicited = 0;
  std::array<std::uint8_t, 3> reserved{};
  std::uint8_t formats = 0;          // DescriptorFormat: data-out 4 bits, data-in 4
  std::uint8_t out_descriptors = 0;  // of an indirect format
  std::uint8_t in_descriptors = 0;
  Be64 tag{};
  Be32 reserved_2{};
  Be64 lun{};
  std::uint8_t reserved_3 = 0;
  std::uint8_t attribute = 0;  // the lowest three bits: TaskAttribute
  std::uint8_t reserved_4 = 0;
  std::uint8_t more_cdb_words = 0;  // in the upper six bits, in words of 4 bytes
  std::array<std::uint8_t, 16> cdb{};
};
static_assert(sizeof(Command) == 48);
static_assert(offsetof(Command, formats) == 5);
static_assert(offsetof(Command, tag) == 8);
static_assert(offsetof(Command, lun) == 20);
static_assert(offsetof(Command, attribute) == 29);
static_assert(offsetof(Command, cdb) == 32);

enum class TaskFunction : std::uint8_t {
  kAbortTask = 0x01,
  kAbortTaskSet = 0x02,
  kClearTaskSet = 0x04,
  kLunReset = 0x08,
  kClearAca = 0x40,
};

struct TaskManagement {  // 6.7
  std::uint8_t opcode = static_cast<std::uint8_t>(Opcode::kTaskManagement);
  std::uint8_t solicited = 0;
  std::array<std::uint8_t, 6> reserved{};
  Be64 tag{};
  Be32 reserved_2{};
  Be64 lun{};
  Be16 reserved_3{};
  std::uint8_t function = 0;
  std::uint8_t reserved_4 = 0;
  Be64 task{};  // of kAbortTask: the tag of the command
  Be64 reserved_5{};
};
static_assert(sizeof(TaskManagement) == 48);
static_assert(offsetof(TaskManagement, tag) == 8);
static_assert(offsetof(TaskManagement, lun) == 20);
static_assert(offsetof(TaskManagement, function) == 30);
static_assert(offsetof(TaskManagement, task) == 32);

struct InitiatorLogout {  // 6.5
  std::uint8_t opcode = static_cast<std::uint8_t>(Opcode::kInitiatorLogout);
  std::array<std::uint8_t, 7> reserved{};
  Be64 tag{};
};
static_assert(sizeof(InitiatorLogout) == 16);

}  // namespace paravane::wire::srp
