#include "nbd/handshake.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "nbd/transmission_flags.h"

namespace paravane::nbd {
namespace {

constexpr std::size_t kSkipStep = 1024;

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

template <typename T>
T struct_of(std::span<const std::byte> bytes) {
  assert(bytes.size() == sizeof(T));
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

Handshake::Handshake(const Offer& offer) : offer_(offer) {
  const Greeting greeting;
  const std::span<const std::byte> bytes = bytes_of(greeting);
  out_.assign(bytes.begin(), bytes.end());
}

std::size_t Handshake::wanted() const {
  assert(state_ == State::kTalking);
  switch (part_) {
    case Part::kFlags: return sizeof(Be32);
    case Part::kHeader: return sizeof(OptionHeader);
    case Part::kData: return left_;
    case Part::kSkipped: return std::min(left_, kSkipStep);
  }
  return 0;
}

void Handshake::take(std::span<const std::byte> bytes) {
  assert(bytes.size() == wanted());
  switch (part_) {
    case Part::kFlags: return take_flags(bytes);
    case Part::kHeader: return take_header(bytes);
    case Part::kData: part_ = Part::kHeader; return take_option(bytes);
    case Part::kSkipped:
      left_ -= bytes.size();
      if (left_ > 0) return;
      part_ = Part::kHeader;
      return refuse(OptionReply::kTooBig, "the option has too much data");
  }
}

void Handshake::take_flags(std::span<const std::byte> bytes) {
  const std::uint32_t flags = struct_of<Be32>(bytes).get();
  if ((flags & ~std::uint32_t{kFixedNewstyle | kNoZeroes}) != 0)
    return end("it sets client flags that do not exist");
  if ((flags & kFixedNewstyle) == 0) return end("it does not know the fixed newstyle handshake");
  omits_zeroes_ = (flags & kNoZeroes) != 0;
  part_ = Part::kHeader;
}

void Handshake::take_header(std::span<const std::byte> bytes) {
  const auto header = struct_of<OptionHeader>(bytes);
  if (header.magic.get() != kOptionMagic) return end("an option has a wrong magic number");
  if (++options_ > kMostOptions) return end("it sends too many options");
  option_ = static_cast<Option>(header.option.get());
  left_ = header.length.get();
  if (left_ > kMostSkippedBytes) return end("an option has too much data");
  if (left_ > kMostOptionBytes) {
    // It has no answer but the end.
    if (option_ == Option::kExportName) return end("the name of an export is too long");
    part_ = Part::kSkipped;
  } else if (left_ > 0) {
    part_ = Part::kData;
  } else {
    take_option({});
  }
}

void Handshake::take_option(std::span<const std::byte> data) {
  switch (option_) {
    case Option::kExportName: return take_name(text_of(data));
    case Option::kAbort:
      reply(OptionReply::kAck);
      state_ = State::kOver;
      return;
    case Option::kList: return list(data);
    case Option::kInfo:
    case Option::kGo: return take_query(data);
    case Option::kStructuredReply:
      if (!data.empty()) return refuse(OptionReply::kInvalid, "the option has no data");
      agreement_.is_structured = true;
      return reply(OptionReply::kAck);
    case Option::kStartTls: return refuse(OptionReply::kUnsupported, "there is no TLS here");
    case Option::kListMetaContext:
    case Option::kSetMetaContext:
      return refuse(OptionReply::kUnsupported, "there are no metadata contexts");
    case Option::kExtendedHeaders: break;
  }
  refuse(OptionReply::kUnsupported, "the option is not supported");
}

// The option has no answer but the export.
void Handshake::take_name(std::string_view name) {
  if (is_our_name(name)) {
    state_ = State::kAsking;
    return;
  }
  ++refused_;
  problem_ = "it asks for an export that does not exist";
  state_ = State::kOver;
}

void Handshake::list(std::span<const std::byte> data) {
  if (!data.empty()) return refuse(OptionReply::kInvalid, "the option has no data");
  const Be32 name_bytes(static_cast<std::uint32_t>(offer_.name.size()));
  reply(OptionReply::kServer, bytes_of(name_bytes), bytes_of(std::string_view(offer_.name)));
  reply(OptionReply::kAck);
}

void Handshake::take_query(std::span<const std::byte> data) {
  const std::optional<ExportQuery> query = parse_export_query(data);
  if (!query) return refuse(OptionReply::kInvalid, "the lengths in the option do not fit its data");
  if (!is_our_name(query->name)) return refuse(OptionReply::kUnknown, "there is no such export");
  if (option_ == Option::kInfo) {
    inform(*query);
    return reply(OptionReply::kAck);
  }
  query_ = *query;
  query_.name = {};
  state_ = State::kAsking;
}

// The size and the block sizes come in any case: a client has to keep to them.
void Handshake::inform(const ExportQuery& query) {
  ExportInformation facts;
  facts.bytes.set(offer_.geometry.bytes);
  facts.flags.set(transmission_flags(offer_.geometry, agreement_.is_structured));
  reply(OptionReply::kInfo, bytes_of(facts));
  if (query.wants_name) {
    const Be16 type(static_cast<std::uint16_t>(Information::kName));
    reply(OptionReply::kInfo, bytes_of(type), bytes_of(std::string_view(offer_.name)));
  }
  if (query.wants_description && !offer_.description.empty()) {
    const Be16 type(static_cast<std::uint16_t>(Information::kDescription));
    reply(OptionReply::kInfo, bytes_of(type), bytes_of(std::string_view(offer_.description)));
  }
  reply(OptionReply::kInfo, bytes_of(block_sizes(offer_.geometry)));
}

void Handshake::grant() {
  assert(state_ == State::kAsking);
  if (option_ == Option::kGo) {
    agreement_.knows_block_sizes = query_.wants_block_sizes;
    inform(query_);
    reply(OptionReply::kAck);
  } else {
    ExportNameReply facts;
    facts.bytes.set(offer_.geometry.bytes);
    facts.flags.set(transmission_flags(offer_.geometry, agreement_.is_structured));
    put(bytes_of(facts));
    if (!omits_zeroes_) out_.insert(out_.end(), kReservedZeroes, std::byte{});
  }
  state_ = State::kDone;
}

void Handshake::deny(std::string_view why) {
  assert(state_ == State::kAsking);
  state_ = option_ == Option::kGo ? State::kTalking : State::kOver;
  if (option_ == Option::kGo) refuse(OptionReply::kPolicy, why);
}

void Handshake::put(std::span<const std::byte> bytes) {
  const std::size_t before = out_.size();
  out_.resize(before + bytes.size());
  std::ranges::copy(bytes, out_.begin() + static_cast<std::ptrdiff_t>(before));
}

void Handshake::reply(OptionReply type, std::span<const std::byte> data,
                      std::span<const std::byte> more) {
  OptionReplyHeader header;
  header.option.set(static_cast<std::uint32_t>(option_));
  header.type.set(static_cast<std::uint32_t>(type));
  header.length.set(static_cast<std::uint32_t>(data.size() + more.size()));
  put(bytes_of(header));
  put(data);
  put(more);
}

void Handshake::refuse(OptionReply type, std::string_view why) {
  ++refused_;
  reply(type, bytes_of(why));
}

void Handshake::end(std::string_view problem) {
  problem_ = problem;
  has_broken_rules_ = true;
  state_ = State::kOver;
}

}  // namespace paravane::nbd
