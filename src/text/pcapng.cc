#include "text/pcapng.h"

#include <algorithm>
#include <cstring>

#include "base/wire_int.h"

namespace paravane::text::pcapng {
namespace {

constexpr std::uint32_t kSectionBlock = 0x0A0D0D0A;
constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kStatisticsBlock = 5;
constexpr std::uint32_t kPacketBlock = 6;

constexpr std::uint32_t kByteOrderMagic = 0x1A2B3C4D;
constexpr std::uint8_t kNanoseconds = 9;  // ten to the minus

constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kProgramOption = 4;  // of a section
constexpr std::uint16_t kNameOption = 2;     // of an interface
constexpr std::uint16_t kResolutionOption = 9;
constexpr std::uint16_t kFlagsOption = 2;  // of a packet
constexpr std::uint16_t kDropCountOption = 4;
constexpr std::uint16_t kStartOption = 2;  // of statistics
constexpr std::uint16_t kEndOption = 3;
constexpr std::uint16_t kReceivedOption = 4;
constexpr std::uint16_t kDroppedOption = 5;

constexpr std::uint32_t kInbound = 1;
constexpr std::uint32_t kOutbound = 2;

struct BlockHead {
  Le32 type;
  Le32 length;  // of the whole block; stands again at its end
};

struct PacketHead {
  Le32 interface;
  Le32 time_high;
  Le32 time_low;
  Le32 kept_bytes;
  Le32 original_bytes;
};
constexpr std::size_t kLeastPacketBlock = sizeof(BlockHead) + sizeof(PacketHead) + sizeof(Le32);

// One block, which ends with the object.
class Block {
 public:
  Block(std::uint32_t type, std::string& file) : file_(file), begin_(file.size()) {
    put(BlockHead{.type = Le32(type), .length{}});
  }
  ~Block() {
    const Le32 length(static_cast<std::uint32_t>(file_.size() - begin_ + sizeof(Le32)));
    put(length);
    std::memcpy(file_.data() + begin_ + offsetof(BlockHead, length), &length, sizeof length);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  template <typename Value>
  void put(const Value& value) {
    file_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_padded(std::string_view bytes) {
    file_ += bytes;
    file_.append((4 - bytes.size() % 4) % 4, '\0');
  }
  void option(std::uint16_t code, std::string_view value) {
    put(Le16(code));
    put(Le16(static_cast<std::uint16_t>(value.size())));
    put_padded(value);
  }
  template <typename Value>
  void option(std::uint16_t code, const Value& value) {
    option(code, std::string_view(reinterpret_cast<const char*>(&value), sizeof value));
  }
  // High word first, as times stand in pcapng.
  void time_option(std::uint16_t code, std::uint64_t ns) {
    struct {
      Le32 high;
      Le32 low;
    } const time{Le32(static_cast<std::uint32_t>(ns >> 32)), Le32(static_cast<std::uint32_t>(ns))};
    option(code, time);
  }
  void end_options() { option(kEndOfOptions, std::string_view()); }

 private:
  std::string& file_;
  std::size_t begin_;
};

// What a packet's options say was dropped before it; 0 where they do not say.
std::uint64_t dropped_before(std::string_view options) {
  struct {
    Le16 code;
    Le16 bytes;
  } head;
  while (options.size() >= sizeof head) {
    std::memcpy(&head, options.data(), sizeof head);
    options.remove_prefix(sizeof head);
    const std::size_t bytes = head.bytes.get();
    if (head.code.get() == kEndOfOptions || bytes > options.size()) return 0;
    Le64 count;
    if (head.code.get() == kDropCountOption && bytes == sizeof count) {
      std::memcpy(&count, options.data(), sizeof count);
      return count.get();
    }
    options.remove_prefix(std::min(options.size(), (bytes + 3) / 4 * 4));
  }
  return 0;
}

}  // namespace

void append_section(std::string_view program, std::string& file) {
  Block block(kSectionBlock, file);
  block.put(Le32(kByteOrderMagic));
  block.put(Le16(1));  // version 1.0
  block.put(Le16(0));
  block.put(Le64(~std::uint64_t{0}));  // how long the section is: not said
  block.option(kProgramOption, program);
  block.end_options();
}

void append_interface(std::string_view name, LinkType link_type, std::uint32_t snaplen,
                      std::string& file) {
  Block block(kInterfaceBlock, file);
  block.put(Le16(static_cast<std::uint16_t>(link_type)));
  block.put(Le16(0));
  block.put(Le32(snaplen));
  block.option(kNameOption, name);
  block.option(kResolutionOption, kNanoseconds);
  block.end_options();
}

void append_packet(const Packet& packet, std::span<const std::byte> bytes, std::string& file) {
  Block block(kPacketBlock, file);
  block.put(PacketHead{.interface = Le32(packet.interface),
                       .time_high = Le32(static_cast<std::uint32_t>(packet.timestamp_ns >> 32)),
                       .time_low = Le32(static_cast<std::uint32_t>(packet.timestamp_ns)),
                       .kept_bytes = Le32(static_cast<std::uint32_t>(bytes.size())),
                       .original_bytes = Le32(packet.original_bytes)});
  block.put_padded({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  block.option(kFlagsOption, Le32(packet.is_outbound ? kOutbound : kInbound));
  if (packet.dropped_before > 0) block.option(kDropCountOption, Le64(packet.dropped_before));
  block.end_options();
}

void append_statistics(const Statistics& statistics, std::string& file) {
  Block block(kStatisticsBlock, file);
  block.put(Le32(statistics.interface));
  block.put(Le32(static_cast<std::uint32_t>(statistics.to_ns >> 32)));
  block.put(Le32(static_cast<std::uint32_t>(statistics.to_ns)));
  block.time_option(kStartOption, statistics.from_ns);
  block.time_option(kEndOption, statistics.to_ns);
  block.option(kReceivedOption, Le64(statistics.received));
  block.option(kDroppedOption, Le64(statistics.dropped));
  block.end_options();
}

Result<Packets> first_packets(std::string_view blocks, std::uint32_t interfaces,
                              std::size_t limit) {
  const auto bad = [] { return fail(Errc::kInvalidArgument, "not a sequence of packet blocks"); };
  Packets all;
  all.interfaces.resize(interfaces);
  while (all.bytes < blocks.size() && all.count < limit) {
    const std::string_view rest = blocks.substr(all.bytes);
    if (rest.size() < kLeastPacketBlock) return bad();
    BlockHead head;
    std::memcpy(&head, rest.data(), sizeof head);
    PacketHead packet;
    std::memcpy(&packet, rest.data() + sizeof head, sizeof packet);
    const std::uint32_t length = head.length.get();
    if (head.type.get() != kPacketBlock || length % 4 != 0 || length < kLeastPacketBlock ||
        length > rest.size() || packet.kept_bytes.get() > length - kLeastPacketBlock ||
        packet.interface.get() >= interfaces) {
      return bad();
    }
    Le32 again;
    std::memcpy(&again, rest.data() + length - sizeof again, sizeof again);
    if (again != head.length) return bad();
    InterfacePackets& interface = all.interfaces[packet.interface.get()];
    ++interface.kept;
    const std::size_t padded = (std::size_t{packet.kept_bytes.get()} + 3) / 4 * 4;
    const std::size_t options =
        std::min<std::size_t>(sizeof head + sizeof packet + padded, length - sizeof again);
    interface.dropped += dropped_before(rest.substr(options, length - sizeof again - options));
    ++all.count;
    all.bytes += length;
  }
  return all;
}

}  // namespace paravane::text::pcapng
