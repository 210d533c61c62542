// Exchanges one line in each direction over TLS 1.3, as at the authority's join endpoint: the
// client sends a request, the server responds, and the connection ends. The size of each line and
// the time of the whole exchange are limited. The caller's thread waits. REQUIRES: SIGPIPE is
// ignored.
//
// Errors: kIo (the peer failed, or the time limit), kInvalidArgument (not a line).

#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "authority/identity.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::cluster {

inline constexpr std::chrono::milliseconds kTlsPatience{5'000};

// Certificates that the other side has shown, as PEM, its own first.
using ShownCertificates = std::vector<std::string>;

struct TlsClient {
  std::filesystem::path identity;  // our certificate and key; empty: we show none
  // Whether these are who we want to speak to. Asked before we say anything.
  std::function<Status(const ShownCertificates&)> accept;
};
// Connected `socket`. `line` ends with a newline; the answer does not.
Result<std::string> exchange_line(const UniqueFd& socket, const TlsClient& client,
                                  const std::string& line);

struct TlsServer {
  std::filesystem::path identity;
  std::filesystem::path authority;  // has signed what clients may show, and is shown with ours
  // What to answer, with a newline. `peer`: who a certificate says that it is, and by which
  // key; nullopt: it showed none.
  std::function<std::string(const std::optional<authority::Peer>& peer, const std::string& line)>
      answer;
};
// `give_up`: a descriptor that becomes readable when nothing is to be waited for any more;
// -1: there is none.
Status serve_line(const UniqueFd& socket, const TlsServer& server, int give_up = -1);

}  // namespace paravane::cluster
