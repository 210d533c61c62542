#include "http/request_bytes.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "api/api_handler.h"

namespace paravane::http {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr std::string_view kLength = "\r\ncontent-length:";

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// What the head says of its body; 0 as well for what is no length or none that
// we take: the parser refuses that without the body.
std::size_t body_size(std::string_view head) {
  const auto found = std::ranges::search(head, kLength, {}, lower);
  if (found.empty()) return 0;
  std::string_view value(found.end(), head.end());
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
  return error == std::errc() && size <= api::max_api_body(path_of(head)) ? size : 0;
}

}  // namespace

std::string_view path_of(std::string_view head) {
  const std::size_t blank = head.find(' ');
  if (blank == std::string_view::npos) return {};
  const std::string_view target = head.substr(blank + 1);
  return target.substr(0, target.find_first_of(" ?\r"));
}

bool RequestBytes::add(std::string_view piece) {
  bytes_ += piece;
  if (!head_) {
    const std::size_t end = bytes_.find(kEndOfHead, searched_);
    if (end == std::string::npos) {
      searched_ = bytes_.size() - std::min(bytes_.size(), kEndOfHead.size() - 1);
      return bytes_.size() > kMaxHead;
    }
    head_ = end + kEndOfHead.size();
    whole_ = *head_ + body_size(std::string_view(bytes_).substr(0, *head_));
  }
  return bytes_.size() >= whole_;
}

}  // namespace paravane::http
