// Exchanges one line of text in each direction over TLS 1.3. The listener for joining hosts
// (join_door.h) uses this exchange. The client sends a request, the server responds, and the
// connection ends. The size of each line and the duration of the whole exchange are limited.
//
// Blocks until the exchange ends. REQUIRES: SIGPIPE is ignored. Errors: kIo (the peer failed, or
// time ran out), kInvalidArgument (not a line).

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

// The certificates that the other side has presented, as PEM. Its own comes first.
using ShownCertificates = std::vector<std::string>;

struct TlsClient {
  std::filesystem::path identity;  // this host's certificate and key; empty: none is presented
  // Checks whether these certificates belong to the expected server. Called before anything is
  // sent.
  std::function<Status(const ShownCertificates&)> accept;
};
// `socket` is connected. `line` ends with a newline; the returned response does not.
Result<std::string> exchange_line(const UniqueFd& socket, const TlsClient& client,
                                  const std::string& line);

struct TlsServer {
  std::filesystem::path identity;
  std::filesystem::path authority;  // has signed the clients' certificates; is presented as well
  // Returns the response, which ends with a newline. `peer`: the client, as its certificate
  // identifies it; nullopt: it presented no certificate.
  std::function<std::string(const std::optional<authority::Peer>& peer, const std::string& line)>
      answer;
};
// `give_up`: a descriptor that becomes readable when the exchange must be abandoned; -1: no such
// descriptor.
Status serve_line(const UniqueFd& socket, const TlsServer& server, int give_up = -1);

}  // namespace paravane::cluster
