#include "http/range_header.h"

#include <algorithm>

namespace paravane::http {
namespace {

constexpr std::string_view kEmptyLine = "\r\n";
constexpr std::string_view kRange = "range:";

bool is_range(std::string_view line) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(line.substr(0, kRange.size()), kRange, {}, lower);
}

}  // namespace

std::string without_ranges(std::string_view request) {
  std::string rest;
  rest.reserve(request.size());
  // A line ends where the parser ends one: at a newline, whatever stands before it.
  for (bool in_head = true; in_head && !request.empty();) {
    const std::size_t end = request.find('\n');
    const std::string_view line = request.substr(0, end == request.npos ? end : end + 1);
    request.remove_prefix(line.size());
    in_head = line != kEmptyLine;
    if (!is_range(line)) rest += line;
  }
  return rest.append(request);
}

}  // namespace paravane::http
