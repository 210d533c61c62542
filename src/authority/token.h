// Join tokens. A token allows one host to join a cluster once, within a limited time. The operator
// copies it from the authority (the host that signs certificates) to the new host. The authority
// stores only a hash of the token's secret.

#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "authority/certificate.h"
#include "base/result.h"

namespace paravane::authority {

struct Token {
  std::string door;         // "192.0.2.1:28249": where the authority signs
  std::string fingerprint;  // of the authority's certificate
  Identity keeper;          // the cluster, and the host that has the authority
  std::string id;           // identifies the token
  std::string secret;
};

inline constexpr std::size_t kMaxToken = 1'024;

// The token as one word, which is "pvt1." followed by Base64 with the characters - and _ (RFC 4648,
// section 5).
std::string print_token(const Token& token);
// Ignores white space around the token. Errors: kInvalidArgument.
Result<Token> parse_token(std::string_view text);

// TokenBook: the tokens that have not been used yet. After kMaxWrong attempts with a wrong secret,
// a token becomes invalid. Owner thread only.
class TokenBook {
 public:
  static constexpr std::size_t kMost = 100;
  static constexpr unsigned kMaxWrong = 10;

  struct Made {
    std::string id;
    std::string secret;
  };
  // Creates a token. An earlier token for the same host becomes invalid. Errors:
  // kResourceExhausted, kIo.
  Result<Made> make(const std::string& host, Seconds until, Seconds now);

  // The host that the token was created for. The token stays valid until burn() is called. Errors:
  // kNotFound, without saying whether the token is unknown, used or expired, or the secret is
  // wrong.
  Result<std::string> check(const std::string& id, std::string_view secret, Seconds now);
  void burn(const std::string& id) { entries_.erase(id); }

  // The format on disk. Errors: kInvalidArgument.
  nlohmann::json print() const;
  static Result<TokenBook> parse(const nlohmann::json& value);

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string host;
    std::string hash;
    Seconds until;
    unsigned wrong = 0;
  };
  void drop_expired(Seconds now);

  std::map<std::string, Entry> entries_;
};

}  // namespace paravane::authority
