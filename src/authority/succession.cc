#include "authority/succession.h"

#include <openssl/err.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "authority/openssl_handles.h"
#include "base/base64.h"
#include "base/endpoint.h"
#include "json/json_reader.h"
#include "json/json_text.h"
#include "model/vm.h"

namespace paravane::authority {

using nlohmann::json;

namespace {

constexpr std::uint64_t kMaxTerm = std::uint64_t{1} << 53;  // that every reader of JSON keeps
// What is signed for this use cannot be taken for something else that the key signs.
constexpr std::string_view kPurpose = "paravane succession 1\n";

std::unexpected<Error> no_succession(const char* why) {
  ERR_clear_error();
  return fail(Errc::kInvalidArgument, why);
}

bool verifies(EVP_PKEY* key, std::string_view text, std::string_view signature) {
  const std::string whole = std::string(kPurpose).append(text);
  const Digest digest(EVP_MD_CTX_new());
  return EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
         EVP_DigestVerify(digest.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char*>(whole.data()),
                          whole.size()) == 1;
}

Result<Succession> read_fields(const json& value) {
  JsonReader reader(value, "succession");
  Succession succession{
      .keeper = {.cluster = reader.need_text("cluster"), .host = reader.need_text("host")},
      .term = reader.need_number("term", kMaxTerm),
      .door = reader.need_text("door"),
      .etcd = {},
      .before = reader.text("before").value_or("")};
  if (const json* endpoints = reader.array("etcd")) {
    for (const json& endpoint : *endpoints) {
      if (endpoint.is_string()) succession.etcd.push_back(endpoint.get<std::string>());
    }
  }
  if (succession.etcd.empty() || succession.etcd.size() > kMaxEndpoints) {
    reader.complain("etcd", "must name 1 to 16 endpoints");
  }
  if (succession.term == 0) reader.complain("term", "must not be 0");
  if (!is_cluster_id(succession.keeper.cluster))
    reader.complain("cluster", "is not a valid cluster ID");
  if (!model::check_name(succession.keeper.host))
    reader.complain("host", "is not a valid host name");
  if (!Endpoint::parse(succession.door)) reader.complain("door", "is not an address with a port");
  if (!succession.before.empty() && !Endpoint::parse(succession.before)) {
    reader.complain("before", "is not an address with a port");
  }
  if (const Status good = reader.finish_ignoring_unknown(); !good) {
    return std::unexpected(good.error());
  }
  return succession;
}

}  // namespace

Result<std::string> print_succession(const Succession& succession, std::string_view key) {
  const Key own = read_key(key);
  if (!own) return no_succession("the authority's key cannot be read");
  json fields = {{"cluster", succession.keeper.cluster},
                 {"host", succession.keeper.host},
                 {"term", succession.term},
                 {"door", succession.door},
                 {"etcd", succession.etcd}};
  if (!succession.before.empty()) fields["before"] = succession.before;
  const std::string text = print_json(fields);
  const std::string whole = std::string(kPurpose).append(text);
  const Digest digest(EVP_MD_CTX_new());
  std::array<unsigned char, kMaxSignature> signature{};
  std::size_t size = signature.size();
  if (EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, own.get()) != 1 ||
      EVP_DigestSign(digest.get(), signature.data(), &size,
                     reinterpret_cast<const unsigned char*>(whole.data()), whole.size()) != 1) {
    ERR_clear_error();
    return fail(Errc::kIo, "OpenSSL cannot sign the proof of promotion");
  }
  const std::string_view bytes(reinterpret_cast<const char*>(signature.data()), size);
  return print_json({{"succession", text}, {"signature", base64_encode(bytes)}});
}

Result<Succession> parse_succession(std::string_view text, std::string_view authority) {
  if (text.size() > kMaxSuccession) return no_succession("the proof of promotion is too long");
  const auto value = parse_json(text);
  if (!value || !value->is_object())
    return no_succession("the proof of promotion is not a JSON object");
  JsonReader reader(*value, "succession");
  const std::string signed_text = reader.need_text("succession");
  const auto signature = base64_decode(reader.need_text("signature"));
  if (!reader.finish_ignoring_unknown() || !signature) {
    return no_succession("the proof of promotion has no signature");
  }
  const Cert certificate = read_certificate(authority);
  EVP_PKEY* key = certificate ? X509_get0_pubkey(certificate.get()) : nullptr;
  if (key == nullptr) return no_succession("the authority's certificate cannot be read");
  // Before anything of it is read.
  if (!verifies(key, signed_text, *signature)) {
    return no_succession("the proof of promotion is not signed by the cluster's authority");
  }
  const auto fields = parse_json(signed_text);
  if (!fields || !fields->is_object())
    return no_succession("the proof of promotion is not a JSON object");
  return read_fields(*fields);
}

}  // namespace paravane::authority
