// The numbers and messages of the NBD protocol, as the server half of fixed newstyle uses them: the
// NBD project's document, proto.md.
//
// All integers are in the byte order of the network.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"

namespace paravane::nbd {

// ---- Handshake ----

inline constexpr std::uint64_t kInitMagic = 0x4E42'444D'4147'4943;    // "NBDMAGIC"
inline constexpr std::uint64_t kOptionMagic = 0x4948'4156'454F'5054;  // "IHAVEOPT"
inline constexpr std::uint64_t kOptionReplyMagic = 0x0003'E889'0455'65A9;

// Handshake flags, and the client's.
inline constexpr std::uint16_t kFixedNewstyle = 1U << 0;
inline constexpr std::uint16_t kNoZeroes = 1U << 1;

enum class Option : std::uint32_t {
  kExportName = 1,
  kAbort = 2,
  kList = 3,
  kStartTls = 5,
  kInfo = 6,
  kGo = 7,
  kStructuredReply = 8,
  kListMetaContext = 10,
  kSetMetaContext = 11,
  kExtendedHeaders = 12,
};

inline constexpr std::uint32_t kOptionErrorBit = 1U << 31;
enum class OptionReply : std::uint32_t {
  kAck = 1,
  kServer = 2,
  kInfo = 3,
  kUnsupported = kOptionErrorBit + 1,
  kPolicy = kOptionErrorBit + 2,
  kInvalid = kOptionErrorBit + 3,
  kUnknown = kOptionErrorBit + 6,
  kTooBig = kOptionErrorBit + 9,
};

enum class Information : std::uint16_t {
  kExport = 0,
  kName = 1,
  kDescription = 2,
  kBlockSize = 3,
};

inline constexpr std::size_t kMostNameBytes = 4096;  // of any string
inline constexpr std::size_t kReservedZeroes = 124;  // after ExportNameReply

struct Greeting {
  Be64 magic{kInitMagic};
  Be64 option_magic{kOptionMagic};
  Be16 flags{kFixedNewstyle | kNoZeroes};
};
static_assert(sizeof(Greeting) == 18);

struct OptionHeader {
  Be64 magic{};
  Be32 option{};
  Be32 length{};  // of the data that follow
};
static_assert(sizeof(OptionHeader) == 16);

struct OptionReplyHeader {
  Be64 magic{kOptionReplyMagic};
  Be32 option{};
  Be32 type{};
  Be32 length{};
};
static_assert(sizeof(OptionReplyHeader) == 20);

struct ExportNameReply {
  Be64 bytes{};
  Be16 flags{};
};
static_assert(sizeof(ExportNameReply) == 10);

struct ExportInformation {
  Be16 type{static_cast<std::uint16_t>(Information::kExport)};
  Be64 bytes{};
  Be16 flags{};
};
static_assert(sizeof(ExportInformation) == 12);

struct BlockSizeInformation {
  Be16 type{static_cast<std::uint16_t>(Information::kBlockSize)};
  Be32 least{};
  Be32 preferred{};
  Be32 most{};
};
static_assert(sizeof(BlockSizeInformation) == 14);

// ---- Transmission ----

// Transmission flags.
inline constexpr std::uint16_t kHasFlags = 1U << 0;
inline constexpr std::uint16_t kReadOnly = 1U << 1;
inline constexpr std::uint16_t kSendFlush = 1U << 2;
inline constexpr std::uint16_t kSendFua = 1U << 3;
inline constexpr std::uint16_t kRotational = 1U << 4;
inline constexpr std::uint16_t kSendTrim = 1U << 5;
inline constexpr std::uint16_t kSendWriteZeroes = 1U << 6;
inline constexpr std::uint16_t kSendDf = 1U << 7;
inline constexpr std::uint16_t kSendFastZero = 1U << 11;

enum class Command : std::uint16_t {
  kRead = 0,
  kWrite = 1,
  kDisconnect = 2,
  kFlush = 3,
  kTrim = 4,
  kCache = 5,
  kWriteZeroes = 6,
  kBlockStatus = 7,
};

// Command flags.
inline constexpr std::uint16_t kFlagFua = 1U << 0;
inline constexpr std::uint16_t kFlagNoHole = 1U << 1;
inline constexpr std::uint16_t kFlagDf = 1U << 2;
inline constexpr std::uint16_t kFlagFastZero = 1U << 4;

enum class ReplyError : std::uint32_t {
  kNone = 0,
  kNotPermitted = 1,
  kIo = 5,
  kNoMemory = 12,
  kInvalid = 22,
  kNoSpace = 28,
  kNotSupported = 95,
  kShutDown = 108,
};

inline constexpr std::uint32_t kRequestMagic = 0x2560'9513;
inline constexpr std::uint32_t kSimpleReplyMagic = 0x6744'6698;
inline constexpr std::uint32_t kStructuredReplyMagic = 0x668E'33EF;

struct RequestHeader {
  Be32 magic{kRequestMagic};
  Be16 flags{};
  Be16 command{};
  Be64 handle{};
  Be64 offset{};
  Be32 length{};
};
static_assert(sizeof(RequestHeader) == 28);

struct SimpleReply {
  Be32 magic{kSimpleReplyMagic};
  Be32 error{};
  Be64 handle{};
};
static_assert(sizeof(SimpleReply) == 16);

inline constexpr std::uint16_t kChunkDone = 1U << 0;
enum class ChunkType : std::uint16_t {
  kNone = 0,
  kOffsetData = 1,
  kError = (1U << 15) + 1,
};

struct ChunkHeader {
  Be32 magic{kStructuredReplyMagic};
  Be16 flags{kChunkDone};
  Be16 type{};
  Be64 handle{};
  Be32 length{};  // of what follows
};
static_assert(sizeof(ChunkHeader) == 20);

struct DataChunk {
  ChunkHeader header{};
  Be64 offset{};
};
static_assert(sizeof(DataChunk) == 28);

struct ErrorChunk {
  ChunkHeader header{};
  Be32 error{};
  Be16 message_bytes{};
};
static_assert(sizeof(ErrorChunk) == 26);

}  // namespace paravane::nbd
