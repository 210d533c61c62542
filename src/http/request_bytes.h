// RequestBytes collects the bytes of one HTTP request and detects when the request is complete, so
// that no thread has to wait for the rest of it. It does not check whether the request is valid;
// the parser does that later.
//
// One thread at a time.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace paravane::http {

// The path in a request such as "POST /v1/vms?x HTTP/1.1\r\n...", not decoded; empty: it has no
// path.
std::string_view path_of(std::string_view request);

class RequestBytes {
 public:
  static constexpr std::size_t kMaxHead = std::size_t{16} * 1024;

  // True: the request is complete, or so malformed or large that no further byte can change the
  // response.
  bool add(std::string_view piece);

  std::string take() { return std::exchange(bytes_, {}); }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t searched_ = 0;         // no end of the head before this
  std::optional<std::size_t> head_;  // with its empty line
  std::size_t whole_ = 0;            // once the head is known
};

}  // namespace paravane::http
