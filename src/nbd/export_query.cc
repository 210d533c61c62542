#include "nbd/export_query.h"

#include <cstdint>
#include <cstring>

#include "base/wire_int.h"
#include "nbd/protocol.h"

namespace paravane::nbd {
namespace {

// Takes a T off the front. False: there are too few bytes.
template <typename T>
bool take_front(std::span<const std::byte>& data, T& value) {
  if (data.size() < sizeof value) return false;
  std::memcpy(&value, data.data(), sizeof value);
  data = data.subspan(sizeof value);
  return true;
}

}  // namespace

std::optional<ExportQuery> parse_export_query(std::span<const std::byte> data) {
  ExportQuery query;
  Be32 name_bytes;
  if (!take_front(data, name_bytes) || name_bytes.get() > data.size()) return std::nullopt;
  if (name_bytes.get() > kMostNameBytes) return std::nullopt;
  query.name = text_of(data.first(name_bytes.get()));
  data = data.subspan(name_bytes.get());
  Be16 count;
  if (!take_front(data, count) || data.size() != count.get() * sizeof(Be16)) return std::nullopt;
  Be16 wanted;
  while (take_front(data, wanted)) {
    switch (static_cast<Information>(wanted.get())) {
      case Information::kExport: break;
      case Information::kName: query.wants_name = true; break;
      case Information::kDescription: query.wants_description = true; break;
      case Information::kBlockSize: query.wants_block_sizes = true; break;
    }
  }
  return query;
}

}  // namespace paravane::nbd
