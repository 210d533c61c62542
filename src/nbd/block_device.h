// BlockDevice is what the NBD server serves: blocks somewhere, reached by requests that complete
// later. It also has the memory that payload is read into and written from, so that a socket's
// bytes are copied once.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "guestmem/extent.h"

namespace paravane::nbd {

struct Geometry {
  std::uint64_t bytes = 0;
  // Offsets and lengths are multiples of it, as `bytes` is; a power of two, at most 64 KiB.
  std::uint32_t block_bytes = 512;
  std::uint32_t preferred_bytes = 4096;  // of a request
  // Of a request with payload: a multiple of block_bytes. Without payload, the device takes any
  // length that is inside it.
  std::uint32_t most_bytes = 0;
  bool is_read_only = false;
  bool has_write_cache = false;  // FLUSH and FUA matter
  bool can_trim = false;
  bool can_write_zeroes = false;
  bool are_zeroes_fast = false;  // written faster than as payload: NBD's FAST_ZERO
  bool is_rotational = false;

  friend bool operator==(const Geometry&, const Geometry&) = default;
};

enum class BlockOperation : std::uint8_t { kRead, kWrite, kFlush, kTrim, kWriteZeroes };

// The names of NBD's errors.
enum class BlockResult : std::uint8_t {
  kDone,
  kNotPermitted,  // EPERM: the device is read-only
  kIo,            // EIO
  kNoMemory,      // ENOMEM
  kInvalid,       // EINVAL
  kNoSpace,       // ENOSPC
  kNotSupported,  // ENOTSUP
  kShutDown,      // ESHUTDOWN
};

// Memory for the payload of one request.
class BlockBuffer {
 public:
  virtual ~BlockBuffer() = default;
  // Appends the extents of bytes [offset, offset+length), good until the end of the turn. False:
  // the memory failed. REQUIRES: the buffer has these bytes.
  virtual bool extents(std::uint32_t offset, std::uint32_t length, ExtentList& out) = 0;
};

struct BlockRequest {
  BlockOperation operation = BlockOperation::kRead;
  std::uint64_t offset = 0;  // bytes; a multiple of the block
  std::uint32_t length = 0;  // likewise; 0: of kFlush
  bool force_unit_access = false;
  bool may_not_unmap = false;             // of kWriteZeroes: NBD's NO_HOLE
  std::unique_ptr<BlockBuffer> buffer{};  // of kRead and kWrite
};

// A user of the device. It outlives its opening.
class BlockClient {
 public:
  // `buffer`: the request's. Comes in any order, never from within submit().
  virtual void on_done(std::uint64_t tag, BlockResult result,
                       std::unique_ptr<BlockBuffer> buffer) = 0;
  // take_buffer(), which returned null, may succeed now. May come from within the destructor of a
  // buffer.
  virtual void on_room() = 0;
  // Requests are taken from now on: those of the client before have ended.
  virtual void on_ready() = 0;

 protected:
  ~BlockClient() = default;
};

class BlockDevice {
 public:
  virtual ~BlockDevice() = default;

  virtual std::string name() const = 0;  // "naa.6001405..."; at most 256 bytes
  // Stays the same while the device is open, since NBD has no word for a change. What has become
  // shorter fails requests.
  virtual Geometry geometry() const = 0;

  // One client at a time, because writes of two would be mixed. False: there is one. The client
  // waits for on_ready(), which may come from within: requests of a client before may be under way.
  virtual bool open(BlockClient& client) = 0;
  // The client hears nothing more. Its requests go on to their end. REQUIRES: the client has no
  // buffer of the device.
  virtual void close(BlockClient& client) = 0;

  // Null: there is no room, and on_room() follows. REQUIRES: open and ready; length is at most
  // most_bytes.
  virtual std::unique_ptr<BlockBuffer> take_buffer(std::uint32_t length) = 0;
  // on_done() follows. REQUIRES: open and ready; the request is inside the device.
  virtual void submit(std::uint64_t tag, BlockRequest request) = 0;
};

}  // namespace paravane::nbd
