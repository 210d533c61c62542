#include "nbd/reply.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace paravane::nbd {
namespace {

template <typename T>
std::size_t put_struct(const T& value, std::span<std::byte> to) {
  std::memcpy(to.data(), &value, sizeof value);
  return sizeof value;
}

ChunkHeader chunk(const Reply& reply, ChunkType type, std::size_t bytes) {
  ChunkHeader header;
  header.type.set(static_cast<std::uint16_t>(type));
  header.handle.set(reply.handle);
  header.length.set(static_cast<std::uint32_t>(bytes));
  return header;
}

}  // namespace

std::size_t write_reply(const Reply& reply, bool is_structured, std::span<std::byte> to) {
  assert(to.size() >= kMostReplyHeader);
  if (!is_structured) {
    SimpleReply simple;
    simple.error.set(static_cast<std::uint32_t>(reply.error));
    simple.handle.set(reply.handle);
    return put_struct(simple, to);
  }
  if (reply.error != ReplyError::kNone) {
    const std::string_view message = reply.message.substr(0, kMostMessageBytes);
    constexpr std::size_t kFixed = sizeof(ErrorChunk) - sizeof(ChunkHeader);
    ErrorChunk error{.header = chunk(reply, ChunkType::kError, kFixed + message.size())};
    error.error.set(static_cast<std::uint32_t>(reply.error));
    error.message_bytes.set(static_cast<std::uint16_t>(message.size()));
    const std::size_t bytes = put_struct(error, to);
    std::ranges::copy(std::as_bytes(std::span(message)), to.begin() + sizeof error);
    return bytes + message.size();
  }
  if (reply.payload_bytes == 0) return put_struct(chunk(reply, ChunkType::kNone, 0), to);
  DataChunk data{.header = chunk(reply, ChunkType::kOffsetData,
                                 sizeof(Be64) + std::size_t{reply.payload_bytes})};
  data.offset.set(reply.offset);
  return put_struct(data, to);
}

}  // namespace paravane::nbd
