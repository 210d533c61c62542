#include "api/api_exchange.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace paravane::api {
namespace {

char in_lower_case(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

struct Incoming {
  ApiAnswer answer;
  std::size_t header_bytes = 0;
  bool is_too_long = false;

  bool take_header(std::string_view line) {
    constexpr std::string_view kServer = "server:";
    header_bytes += line.size();
    is_too_long = header_bytes > kMostHeaderBytes;
    if (std::ranges::equal(line.substr(0, kServer.size()), kServer, {}, in_lower_case)) {
      line.remove_prefix(kServer.size());
      const auto first = line.find_first_not_of(' ');
      const auto last = line.find_last_not_of(" \r\n");
      if (first != line.npos && last != line.npos && first <= last) {
        answer.server = line.substr(first, last - first + 1);
      }
    }
    return !is_too_long;
  }
  bool take_body(std::string_view piece) {
    is_too_long = answer.body.size() + piece.size() > kMostAnswerBytes;
    if (!is_too_long) answer.body += piece;
    return !is_too_long;
  }
};

template <bool (Incoming::*kTake)(std::string_view)>
std::size_t give(char* data, std::size_t size, std::size_t count, void* incoming) {
  const std::string_view piece(data, size * count);
  return (static_cast<Incoming*>(incoming)->*kTake)(piece) ? piece.size() : 0;
}

// What a request line cannot hold; the rest is the caller's.
std::string url_of(std::string_view path) {
  std::string url = "http://localhost";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7F) {
      url += fmt::format("%{:02X}", byte);
    } else {
      url += c;
    }
  }
  return url;
}

struct Cleanup {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

}  // namespace

std::expected<ApiAnswer, NoAnswer> exchange(const ApiExchange& request) {
  const std::unique_ptr<CURL, Cleanup> handle(curl_easy_init());
  CURL* curl = handle.get();
  Incoming incoming;
  const std::string url = url_of(request.path);
  const std::unique_ptr<curl_slist, Cleanup> headers(curl_slist_append(
      nullptr, request.body.empty() ? "Content-Type:" : "Content-Type: application/json"));
  curl_slist_append(headers.get(), "Expect:");  // sent at once
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");  // whatever the environment says
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, request.socket.c_str());
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(request.patience.count()));
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  if (request.method != "GET") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, give<&Incoming::take_header>);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &incoming);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, give<&Incoming::take_body>);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &incoming);
  const CURLcode code = curl_easy_perform(curl);
  if (code == CURLE_OK) {
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    incoming.answer.status = static_cast<int>(status);
    return std::move(incoming.answer);
  }
  const auto kind = incoming.is_too_long               ? NoAnswer::Kind::kTooLong
                    : code == CURLE_OPERATION_TIMEDOUT ? NoAnswer::Kind::kTimedOut
                                                       : NoAnswer::Kind::kBroken;
  return std::unexpected(NoAnswer{.kind = kind, .cause = curl_easy_strerror(code)});
}

}  // namespace paravane::api
