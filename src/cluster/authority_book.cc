#include "cluster/authority_book.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cluster/cluster_files.h"
#include "cluster/kept_json.h"
#include "json/json_reader.h"

namespace paravane::cluster {

using nlohmann::json;

namespace {

// An older version has names in "hosts", and skips there what is no name: the list of now has
// another key, so that such a version says that the book is damaged instead of having no members.
Result<authority::MemberBook> read_members(const json* members, const json* names) {
  if ((members == nullptr) == (names == nullptr)) {
    return fail(Errc::kInvalidArgument, "there must be exactly one list of members");
  }
  return names == nullptr ? authority::MemberBook::parse(*members)
                          : authority::MemberBook::parse_names(*names);
}

}  // namespace

json print_book(const AuthorityBook& book) {
  json value = {{"etcd_user", book.root.user},
                {"etcd_password", book.root.password},
                {"members", book.members.print()},
                {"tokens", book.tokens.print()}};
  if (book.generation.number != 0) {
    value["generation"] = inventory::print_generation(book.generation);
  }
  if (!book.curbed.empty()) value["curbed"] = book.curbed;
  return value;
}

Result<AuthorityBook> parse_book(const json& value) {
  if (!value.is_object()) return fail(Errc::kInvalidArgument, "not a JSON object");
  JsonReader reader(value, "authority");
  AuthorityBook book{.root = {.user = reader.need_text("etcd_user"),
                              .password = reader.need_text("etcd_password")}};
  const json* tokens = reader.array("tokens");
  auto parsed = authority::TokenBook::parse(tokens == nullptr ? json() : *tokens);
  auto members = read_members(reader.array("members"), reader.array("hosts"));
  Result<inventory::Generation> generation{};
  if (const json* counted = reader.object("generation")) {
    generation = inventory::parse_generation(*counted);
  }
  if (const json* curbed = reader.array("curbed")) {
    for (const json& host : *curbed) {
      if (host.is_string()) book.curbed.insert(host.get<std::string>());
    }
  }
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  if (!members) return std::unexpected(members.error());
  if (!parsed) return std::unexpected(parsed.error());
  if (!generation) return std::unexpected(generation.error());
  book.tokens = std::move(*parsed);
  book.members = std::move(*members);
  book.generation = std::move(*generation);
  return book;
}

Status write_book(const settings::ClusterPaths& paths, const AuthorityBook& book) {
  return write_file(paths.book(), print_kept(print_book(book)));
}

Result<AuthorityBook> load_book(const settings::ClusterPaths& paths) {
  const auto text = read_file(paths.book());
  if (!text) return std::unexpected(text.error());
  const auto value = parse_kept(*text);
  Result<AuthorityBook> book =
      value ? parse_book(*value) : Result<AuthorityBook>(std::unexpected(value.error()));
  if (book) return book;
  return fail(Errc::kInvalidArgument,
              fmt::format("{} is damaged: {}", paths.book().string(), book.error().message));
}

}  // namespace paravane::cluster
