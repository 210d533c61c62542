// Join tokens: a token allows one host to join a cluster once, within a short time. The operator
// carries it from the authority's host to the new host. The authority stores only a hash of its
// secret.

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
  std::string id;           // which of its tokens this is
  std::string secret;
};

inline constexpr std::size_t kMaxToken = 1'024;

// One word: "pvt1." and Base64 with - and _.
std::string print_token(const Token& token);
// White space around it is no harm. Errors: kInvalidArgument.
Result<Token> parse_token(std::string_view text);

// The tokens that are out. A secret that is wrong kMaxWrong times ends its token.
// Owner thread only.
class TokenBook {
 public:
  static constexpr std::size_t kMost = 100;
  static constexpr unsigned kMaxWrong = 10;

  struct Made {
    std::string id;
    std::string secret;
  };
  // An earlier one for the same host is no good any more.
  // Errors: kResourceExhausted, kIo.
  Result<Made> make(const std::string& host, Seconds until, Seconds now);

  // The host it was made for. It is good until it is burnt. Errors: kNotFound: unknown,
  // used, expired or wrong, all alike.
  Result<std::string> check(const std::string& id, std::string_view secret, Seconds now);
  void burn(const std::string& id) { entries_.erase(id); }

  // As it is kept on disk. Errors: kInvalidArgument.
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
