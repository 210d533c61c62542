// Derives the keys of a channel over a trunk (docs/hca.md) from the channel over TCP in which the
// two hosts arrange it. The content of that channel is authentic. An encrypted channel also keeps
// it secret, and a channel without encryption has keys.
//
// Any thread.

#pragma once

#include <optional>

#include "base/result.h"
#include "transport/channel/seal.h"
#include "wire/trunk_frames.h"

namespace paravane::transport_channel {

// The key with which the host that offered `sender` seals. `key`: that of the channel over TCP in
// the same direction; nullopt: it is encrypted. HMAC-SHA256 (RFC 2104), cut to the key's size.
// Errors: kIo (the cryptographic library refused).
Result<Seal::Key> derive_trunk_key(const std::optional<Seal::Key>& key,
                                   const wire::TrunkNonce& sender,
                                   const wire::TrunkNonce& receiver);

}  // namespace paravane::transport_channel
