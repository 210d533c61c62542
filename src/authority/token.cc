#include "authority/token.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/base64.h"
#include "json/json_reader.h"
#include "json/json_text.h"
#include "model/vm.h"

namespace paravane::authority {

using nlohmann::json;

namespace {

constexpr std::string_view kTokenMark = "pvt1.";
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kIdBytes = 8;

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::unexpected<Error> bad_token() {
  return fail(Errc::kInvalidArgument, "the text is not a join token, or is incomplete");
}

std::unexpected<Error> bad_tokens() {
  return fail(Errc::kInvalidArgument, "the list of join tokens is damaged");
}

}  // namespace

std::string print_token(const Token& token) {
  const json value = {{"door", token.door},
                      {"authority", token.fingerprint},
                      {"cluster", token.keeper.cluster},
                      {"host", token.keeper.host},
                      {"id", token.id},
                      {"secret", token.secret}};
  std::string text = base64_encode(value.dump());
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  text.erase(std::ranges::find(text, '='), text.end());
  return std::string(kTokenMark) + text;
}

Result<Token> parse_token(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  text = text.substr(0, text.find_last_not_of(kBlank) + 1);
  if (!text.starts_with(kTokenMark) || text.size() > kMaxToken) return bad_token();
  std::string standard(text.substr(kTokenMark.size()));
  std::ranges::replace(standard, '-', '+');
  std::ranges::replace(standard, '_', '/');
  standard.append((4 - standard.size() % 4) % 4, '=');
  const auto bytes = base64_decode(standard);
  if (!bytes) return bad_token();
  const auto value = parse_json(*bytes);
  if (!value || !value->is_object()) return bad_token();
  JsonReader reader(*value, "token");
  Token token{.door = reader.need_text("door"),
              .fingerprint = reader.need_text("authority"),
              .keeper = {.cluster = reader.need_text("cluster"), .host = reader.need_text("host")},
              .id = reader.need_text("id"),
              .secret = reader.need_text("secret")};
  const bool good = reader.finish() && is_hex(token.fingerprint, 64) &&
                    is_cluster_id(token.keeper.cluster) && model::check_name(token.keeper.host) &&
                    is_hex(token.id, 2 * kIdBytes) && is_hex(token.secret, 2 * kSecretBytes);
  if (!good || print_token(token) != text) return bad_token();
  return token;
}

void TokenBook::drop_expired(Seconds now) {
  std::erase_if(entries_, [now](const auto& entry) { return entry.second.until <= now; });
}

auto TokenBook::make(const std::string& host, Seconds until, Seconds now) -> Result<Made> {
  drop_expired(now);
  std::erase_if(entries_, [&host](const auto& entry) { return entry.second.host == host; });
  if (entries_.size() >= kMost) {
    return fail(Errc::kResourceExhausted, "too many join tokens are still unused");
  }
  auto id = make_secret(kIdBytes);
  if (!id) return std::unexpected(id.error());
  auto secret = make_secret(kSecretBytes);
  if (!secret) return std::unexpected(secret.error());
  entries_[*id] = {.host = host, .hash = hash(*secret), .until = until, .wrong = 0};
  return Made{.id = std::move(*id), .secret = std::move(*secret)};
}

Result<std::string> TokenBook::check(const std::string& id, std::string_view secret, Seconds now) {
  drop_expired(now);
  const auto found = entries_.find(id);
  const bool known = found != entries_.end();
  const std::string nobody(64, '0');
  // As long for one that is unknown.
  const bool right = equal_secrets(hash(secret), known ? found->second.hash : nobody);
  if (known && right) return found->second.host;
  if (known && ++found->second.wrong >= kMaxWrong) entries_.erase(found);
  return fail(Errc::kNotFound, "the join token is unknown, used or expired");
}

json TokenBook::print() const {
  json list = json::array();
  for (const auto& [id, entry] : entries_) {
    list.push_back({{"id", id},
                    {"host", entry.host},
                    {"hash", entry.hash},
                    {"until", entry.until.time_since_epoch().count()}});
  }
  return list;
}

Result<TokenBook> TokenBook::parse(const json& value) {
  TokenBook book;
  if (!value.is_array() || value.size() > kMost) return bad_tokens();
  for (const json& element : value) {
    if (!element.is_object()) return bad_tokens();
    JsonReader reader(element, "token");
    const std::string id = reader.need_text("id");
    Entry entry{.host = reader.need_text("host"),
                .hash = reader.need_text("hash"),
                .until = Seconds(std::chrono::seconds(reader.need_number("until", 1ULL << 40))),
                .wrong = 0};
    if (!reader.finish() || !is_hex(id, 2 * kIdBytes) || !is_hex(entry.hash, 64))
      return bad_tokens();
    book.entries_[id] = std::move(entry);
  }
  return book;
}

}  // namespace paravane::authority
