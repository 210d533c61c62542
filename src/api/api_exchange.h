// exchange(): sends one HTTP request to a UNIX socket and returns the response. The size of the
// response and the total time are bounded, because the program that listens on the socket could be
// hostile, and the caller could be root.
//
// Blocks. Any thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>

namespace paravane::api {

inline constexpr std::size_t kMostHeaderBytes = std::size_t{64} * 1024;
// For comparison, the statistics of 16,384 queue pairs have about 7 MiB.
inline constexpr std::size_t kMostAnswerBytes = std::size_t{256} * 1024 * 1024;

struct ApiExchange {
  std::string socket;  // path
  std::string method;
  std::string path;  // with its query
  std::string body;  // JSON; empty: none
  std::chrono::milliseconds patience{};
};

struct ApiAnswer {
  int status = 0;
  std::string server;  // the header of that name
  std::string body;
};

struct NoAnswer {
  enum class Kind : std::uint8_t { kTimedOut, kTooLong, kBroken } kind;
  std::string cause;
};

std::expected<ApiAnswer, NoAnswer> exchange(const ApiExchange& request);

}  // namespace paravane::api
