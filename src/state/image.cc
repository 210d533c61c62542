#include "state/image.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/wire_int.h"

namespace paravane::state {
namespace {

constexpr std::uint64_t kMark = 0x45'54'41'54'53'52'56'50;  // "PVRSTATE"

struct Header {
  Le64 mark;
  Le32 format;
  Le32 reserved;
  Le64 bytes;  // of the state
};

using Digest = std::array<std::byte, SHA256_DIGEST_LENGTH>;

// Of the header and the state.
Result<Digest> digest_of(std::span<const std::byte> bytes) {
  Digest digest{};
  std::size_t size = digest.size();
  const int done = EVP_Q_digest(nullptr, "SHA256", nullptr, bytes.data(), bytes.size(),
                                reinterpret_cast<unsigned char*>(digest.data()), &size);
  if (done != 1) return fail(Errc::kResourceExhausted, "state: no digest could be made");
  return digest;
}

}  // namespace

Result<std::vector<std::byte>> make_image(std::span<const std::byte> state) {
  if (state.size() > kMostImageBytes) {
    return fail(Errc::kResourceExhausted, "state: " + std::to_string(state.size()) +
                                              " bytes are more than an image may have");
  }
  const Header header{
      .mark = Le64(kMark), .format = Le32(kFormat), .reserved = {}, .bytes = Le64(state.size())};
  const auto raw = std::as_bytes(std::span(&header, 1));
  std::vector<std::byte> image;
  image.reserve(raw.size() + state.size() + sizeof(Digest));
  image.insert(image.end(), raw.begin(), raw.end());
  image.insert(image.end(), state.begin(), state.end());
  const Result<Digest> digest = digest_of(image);
  if (!digest) return std::unexpected(digest.error());
  image.insert(image.end(), digest->begin(), digest->end());
  return image;
}

Result<std::span<const std::byte>> open_image(std::span<const std::byte> image) {
  Header header;
  if (image.size() < sizeof header) {
    return fail(Errc::kInvalidArgument, "state: these bytes are not a saved state");
  }
  std::memcpy(&header, image.data(), sizeof header);
  if (header.mark.get() != kMark) {
    return fail(Errc::kInvalidArgument, "state: these bytes are not a saved state");
  }
  if (header.format.get() != kFormat) {
    return fail(Errc::kInvalidArgument, "state: the format is " +
                                            std::to_string(header.format.get()) +
                                            ", and this release reads " + std::to_string(kFormat));
  }
  const std::uint64_t bytes = header.bytes.get();
  if (bytes > kMostImageBytes || image.size() != sizeof header + bytes + sizeof(Digest)) {
    return fail(Errc::kInvalidArgument, "state: it has another length than it says");
  }
  const Result<Digest> digest = digest_of(image.first(sizeof header + bytes));
  if (!digest) return std::unexpected(digest.error());
  if (!std::ranges::equal(*digest, image.last(sizeof(Digest)))) {
    return fail(Errc::kInvalidArgument, "state: it is damaged");
  }
  return image.subspan(sizeof header, bytes);
}

}  // namespace paravane::state
