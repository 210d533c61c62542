// A saved state that an enemy has made: a file that was changed, another host, an engine that a
// guest has taken over. The first bytes say how it is read, the rest is the state. What is read and
// not refused has one form: written again, it is the same bytes.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "fuzz_bytes.h"
#include "state/image.h"
#include "state/reader.h"
#include "state/writer.h"
#include "state_script.h"

namespace paravane::fake {
namespace {

using state::Reader;
using state::Tag;
using state::Writer;

void require(bool condition) {
  if (!condition) std::abort();
}

class StateFuzz {
 public:
  StateFuzz(FuzzBytes& script, std::span<const std::byte> bytes) : script_(script), bytes_(bytes) {}

  void run() {
    Reader in(bytes_, loading_);
    read(in, 0);
    in.end();
    const std::vector<std::byte> again = out_.take();
    require(loading_.good() == loading_.status().has_value());
    if (!loading_.good()) return require(!loading_.status().error().message.empty());
    if (!may_have_skipped_) require(std::ranges::equal(again, bytes_));
  }

 private:
  void read(Reader& in, std::uint32_t depth) {
    std::uint16_t place = 0;
    while (!script_.at_end() && in.good()) {
      const StateAct act{
          static_cast<std::uint8_t>(script_.below(std::to_underlying(StateAct::kCount)))};
      place = static_cast<std::uint16_t>(place + script_.below(3));
      const Tag tag{place};
      switch (act) {
        case StateAct::kNumber: {
          const std::uint64_t most = script_.u16();
          const std::uint64_t value = in.number(tag, most);
          require(value <= most);
          if (in.good()) out_.number(tag, value);
          break;
        }
        case StateAct::kNumberIf:
          if (const auto value = in.number_if(tag); value && in.good()) out_.number(tag, *value);
          break;
        case StateAct::kBytes: {
          const std::size_t most = script_.u8();
          const auto bytes = in.bytes(tag, most);
          require(bytes.size() <= most);
          if (in.good()) out_.bytes(tag, bytes);
          break;
        }
        case StateAct::kBytesInto: {
          std::vector<std::byte> bytes(script_.u8(), std::byte{1});
          in.bytes_into(tag, bytes);
          if (in.good()) out_.bytes(tag, bytes);
          break;
        }
        case StateAct::kGroup:
          if (auto group = in.group_if(tag)) read_group(*group, tag, depth);
          break;
        case StateAct::kEnd: return;
        case StateAct::kCount: break;
      }
    }
  }

  void read_group(Reader& group, Tag tag, std::uint32_t depth) {
    require(depth < state::kMostDepth || !group.good());
    if (!group.good()) return;
    const Writer::Group written(out_, tag);
    read(group, depth + 1);
    group.end();
  }

  FuzzBytes& script_;
  std::span<const std::byte> bytes_;
  state::Loading loading_;
  Writer out_;
  // No act of the script looks for records that may be skipped, so those that there are, were.
  bool may_have_skipped_ = has_such();

  // A record of such a tag may be anywhere; its tag has this bit in its second byte.
  bool has_such() const {
    return std::ranges::any_of(
        bytes_, [](std::byte one) { return (one & std::byte{0x80}) != std::byte{0}; });
  }
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t script_bytes = std::min<std::size_t>(data[0], size - 1);
  paravane::fake::FuzzBytes script(data + 1, script_bytes);
  const auto rest = std::as_bytes(std::span(data, size)).subspan(1 + script_bytes);
  paravane::fake::StateFuzz(script, rest).run();
  const auto opened = paravane::state::open_image(rest);
  if (opened && opened->size() >= rest.size()) std::abort();
  return 0;
}
