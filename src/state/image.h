// An image is a state (tag.h) with what tells it from other bytes: a mark, the version of the
// format, its length and a digest, so that a file that was cut short or damaged is refused as such.
// The digest protects from accidents, not from enemies.
//
// Stateless, any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace paravane::state {

// Of records and their headers, and not of what they say: new tags need no new version.
inline constexpr std::uint32_t kFormat = 1;
inline constexpr std::uint64_t kMostImageBytes = std::uint64_t{256} << 20;

// Errors: kResourceExhausted (more than kMostImageBytes).
Result<std::vector<std::byte>> make_image(std::span<const std::byte> state);

// The state in an image. Errors: kInvalidArgument (not an image, another format, damaged).
Result<std::span<const std::byte>> open_image(std::span<const std::byte> image);

}  // namespace paravane::state
