// QMP: what a QEMU that its guest has taken over may answer the command line, which may be
// root's. The first byte says into what pieces the rest comes. Nothing is kept beyond the
// reader's bound, and what is printed moves no cursor.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "vmm/qmp_reader.h"

namespace paravane::vmm {
namespace {

void check_printable(const std::string& text) {
  const auto plain = [](char c) { return c >= 0x20 && c < 0x7f; };
  if (!std::ranges::all_of(text, plain) || text.size() > 500) std::abort();
}

// As QmpClient reads: all that is whole, before it takes more.
bool read_all(QmpReader& reader) {
  for (;;) {
    const auto message = reader.next();
    if (!message) return false;
    if (!*message) return true;
    check_printable((*message)->text);
  }
}

}  // namespace
}  // namespace paravane::vmm

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = std::size_t{data[0]} + 1;
  paravane::vmm::QmpReader reader;
  while (!bytes.empty()) {
    if (!reader.feed(bytes.substr(0, piece))) return 0;
    if (!paravane::vmm::read_all(reader)) return 0;
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return 0;
}
