// What a script of attachment_fuzz begins with. What it does then: state_changes.h.

#pragma once

#include <cstdint>

namespace paravane::fake {

// In the middle of what it was saved.
enum class AttachmentScene : std::uint8_t {
  kRest,
  kMessage,    // half of one, with descriptors
  kOwed,       // the device answers later, and more requests wait
  kSending,    // the VMM does not read
  kNoVersion,  // a client that has said a part of it
  kNoClient,
  kCount
};

}  // namespace paravane::fake
