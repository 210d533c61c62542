#include "nbd/request.h"

#include <cassert>

namespace paravane::nbd {
namespace {

Verdict odd(ReplyError error, std::string_view message) {
  return {.error = error, .is_odd = true, .message = message};
}

bool changes_data(Command command) {
  return command == Command::kWrite || command == Command::kTrim ||
         command == Command::kWriteZeroes;
}

// Of a client that was told what the device has. FUA is right with any command then.
std::uint32_t flags_allowed(Command command, const Geometry& geometry, const Agreement& agreement) {
  std::uint32_t flags = geometry.has_write_cache ? kFlagFua : 0U;
  if (command == Command::kRead && agreement.is_structured) flags |= kFlagDf;
  if (command == Command::kWriteZeroes) flags |= kFlagNoHole | kFlagFastZero;
  return flags;
}

Verdict judge_command(Command command, const Geometry& geometry) {
  switch (command) {
    case Command::kRead:
    case Command::kWrite: return {};
    case Command::kFlush:
      if (geometry.has_write_cache) return {};
      return odd(ReplyError::kInvalid, "the device has no cache that could be flushed");
    case Command::kTrim:
      if (geometry.can_trim || geometry.is_read_only) return {};
      return odd(ReplyError::kInvalid, "the device cannot trim");
    case Command::kWriteZeroes:
      if (geometry.can_write_zeroes || geometry.is_read_only) return {};
      return odd(ReplyError::kInvalid, "the device cannot write zeroes");
    case Command::kDisconnect:
    case Command::kCache:
    case Command::kBlockStatus: break;
  }
  return odd(ReplyError::kInvalid, "the command is not supported");
}

Verdict judge_place(const Request& request, const Geometry& geometry, const Agreement& agreement) {
  const std::uint32_t length = request.length;
  if (length == 0) return odd(ReplyError::kInvalid, "the length is 0");
  if (request.offset > geometry.bytes || length > geometry.bytes - request.offset) {
    const bool writes =
        request.command == Command::kWrite || request.command == Command::kWriteZeroes;
    return odd(writes ? ReplyError::kNoSpace : ReplyError::kInvalid,
               "the request is beyond the end of the device");
  }
  // A client that did not ask does not know them.
  const bool is_odd = agreement.knows_block_sizes;
  if (request.offset % geometry.block_bytes != 0 || length % geometry.block_bytes != 0)
    return {ReplyError::kInvalid, is_odd, "the request is not a multiple of the device's blocks"};
  const bool has_payload = request.command == Command::kRead || request.command == Command::kWrite;
  if (has_payload && length > geometry.most_bytes)
    return {ReplyError::kInvalid, is_odd, "the request is longer than the device takes"};
  return {};
}

}  // namespace

Request request_of(const RequestHeader& header) {
  return {.flags = header.flags.get(),
          .command = static_cast<Command>(header.command.get()),
          .handle = header.handle.get(),
          .offset = header.offset.get(),
          .length = header.length.get()};
}

Verdict judge(const Request& request, const Geometry& geometry, const Agreement& agreement) {
  assert(request.command != Command::kDisconnect);
  if (const Verdict command = judge_command(request.command, geometry);
      command.error != ReplyError::kNone)
    return command;
  if ((request.flags & ~flags_allowed(request.command, geometry, agreement)) != 0)
    return odd(ReplyError::kInvalid, "the command does not have these flags");
  if (geometry.is_read_only && changes_data(request.command))
    return {.error = ReplyError::kNotPermitted, .message = "the device is read-only"};
  if (request.command == Command::kFlush) {
    if (request.offset == 0 && request.length == 0) return {};
    return odd(ReplyError::kInvalid, "a flush has no offset and no length");
  }
  const Verdict place = judge_place(request, geometry, agreement);
  if (place.error != ReplyError::kNone) return place;
  if ((request.flags & kFlagFastZero) != 0 && !geometry.are_zeroes_fast)
    return {.error = ReplyError::kNotSupported, .message = "the device writes no zeroes fast"};
  return {};
}

BlockOperation operation_of(Command command) {
  switch (command) {
    case Command::kRead: return BlockOperation::kRead;
    case Command::kWrite: return BlockOperation::kWrite;
    case Command::kFlush: return BlockOperation::kFlush;
    case Command::kTrim: return BlockOperation::kTrim;
    case Command::kWriteZeroes: return BlockOperation::kWriteZeroes;
    case Command::kDisconnect:
    case Command::kCache:
    case Command::kBlockStatus: break;
  }
  assert(false);
  return BlockOperation::kRead;
}

ReplyError error_of(BlockResult result) {
  switch (result) {
    case BlockResult::kDone: return ReplyError::kNone;
    case BlockResult::kNotPermitted: return ReplyError::kNotPermitted;
    case BlockResult::kIo: return ReplyError::kIo;
    case BlockResult::kNoMemory: return ReplyError::kNoMemory;
    case BlockResult::kInvalid: return ReplyError::kInvalid;
    case BlockResult::kNoSpace: return ReplyError::kNoSpace;
    case BlockResult::kNotSupported: return ReplyError::kNotSupported;
    case BlockResult::kShutDown: return ReplyError::kShutDown;
  }
  return ReplyError::kIo;
}

std::string_view message_of(BlockResult result) {
  switch (result) {
    case BlockResult::kDone: return {};
    case BlockResult::kNotPermitted: return "the device does not permit it";
    case BlockResult::kIo: return "the device failed";
    case BlockResult::kNoMemory: return "the device has no memory";
    case BlockResult::kInvalid: return "the device refuses the request";
    case BlockResult::kNoSpace: return "the device has no space left";
    case BlockResult::kNotSupported: return "the device does not support the request";
    case BlockResult::kShutDown: return "the device is not there any more";
  }
  return {};
}

}  // namespace paravane::nbd
