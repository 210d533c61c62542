// Seeds for state_fuzz: states with the scripts that read them.

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "state/image.h"
#include "state/writer.h"
#include "state_script.h"

namespace {

using paravane::fake::SeedBytes;
using paravane::fake::StateAct;
using paravane::state::Tag;
using paravane::state::Writer;
using Bytes = std::vector<std::byte>;

std::vector<std::uint8_t> seed(const SeedBytes& script, const Bytes& state) {
  std::vector<std::uint8_t> all{static_cast<std::uint8_t>(script.bytes().size())};
  all.insert(all.end(), script.bytes().begin(), script.bytes().end());
  for (const std::byte one : state) all.push_back(std::to_integer<std::uint8_t>(one));
  return all;
}

SeedBytes& act(SeedBytes& script, StateAct what, std::uint32_t step) {
  return script.u8(std::to_underlying(what)).u8(step);
}

std::vector<std::uint8_t> flat() {
  const Bytes bytes(5, std::byte{7});
  Writer out;
  out.number(Tag{1}, 0x1234);
  out.number(Tag{2}, 0);
  out.bytes(Tag{2}, bytes);
  out.bytes(Tag{4}, bytes);
  SeedBytes script;
  act(script, StateAct::kNumber, 1).u16(0xFFFF);
  act(script, StateAct::kNumberIf, 1);
  act(script, StateAct::kBytes, 0).u8(9);
  act(script, StateAct::kBytesInto, 2).u8(5);
  return seed(script, out.take());
}

void nest(Writer& out, SeedBytes& script, int depth) {
  out.number(Tag{1}, static_cast<std::uint64_t>(depth));
  act(script, StateAct::kNumber, 1).u16(100);
  if (depth == 0) return;
  {
    const Writer::Group group(out, Tag{2});
    act(script, StateAct::kGroup, 1);
    nest(out, script, depth - 1);
    act(script, StateAct::kEnd, 0);
  }
}

std::vector<std::uint8_t> nested(int depth) {
  Writer out;
  SeedBytes script;
  nest(out, script, depth);
  return seed(script, out.take());
}

std::vector<std::uint8_t> image() {
  Writer out;
  out.number(Tag{1}, 5);
  return seed({}, *paravane::state::make_image(out.take()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int number = 0;
  for (const auto& bytes : {flat(), nested(3), nested(9), image()}) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file) return 1;
  }
  return 0;
}
