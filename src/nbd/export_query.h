// ExportQuery: the data of the options INFO and GO (proto.md, "NBD_OPT_INFO"): which export a
// client asks for, and what it wants to know of it.
//
// Any thread.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace paravane::nbd {

struct ExportQuery {
  std::string_view name{};  // part of the data
  bool wants_name = false;
  bool wants_description = false;
  bool wants_block_sizes = false;
};

// nullopt: the lengths in it are not those of the data.
std::optional<ExportQuery> parse_export_query(std::span<const std::byte> data);

// The data as a string: NBD's are bytes without an end.
inline std::string_view text_of(std::span<const std::byte> data) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as characters
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace paravane::nbd
