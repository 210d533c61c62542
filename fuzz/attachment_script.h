// What a script of attachment_fuzz does to a saved attachment before a server adopts it.

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

enum class AttachmentAct : std::uint8_t {
  kByte,     // place (16 bits), value: any byte of the state
  kNumber,   // record, number: another number
  kDrop,     // record
  kTwice,    // record
  kLonger,   // record, bytes: so many zeros are added, or taken away
  kSwap,     // record, record: their values
  kNoFd,     // descriptor: it did not come
  kOtherFd,  // descriptor, kind
  kSwapFds,  // descriptor, descriptor
  kCut,      // length (16 bits): of the state
  kCount
};

enum class AttachmentFd : std::uint8_t {
  kEventfd,
  kMemory,
  kReadOnlyMemory,
  kEmptyMemory,
  kNothing,  // /dev/null
  kSocket,
  kClient,  // the other end of the VMM's
  kCount
};

}  // namespace paravane::fake
