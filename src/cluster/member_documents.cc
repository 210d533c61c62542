#include "cluster/member_documents.h"

#include <optional>

namespace paravane::cluster {

using inventory::member_document;
using inventory::View;
using inventory::Write;

namespace {

inventory::MemberRecord record_of(const authority::MemberKeys& keys) {
  inventory::MemberRecord record{.joined = keys.joined, .keys = {}};
  for (const std::string* key : {&keys.present, &keys.next}) {
    if (!key->empty()) record.keys.push_back(*key);
  }
  return record;
}

}  // namespace

MemberDocuments member_documents(const authority::MemberBook& book, const std::string& self) {
  MemberDocuments documents;
  const auto add = [&documents](const auto& member) {
    const auto& [host, keys] = member;
    documents[member_document(host)] = inventory::print_member(host, record_of(keys));
  };
  const auto own = book.members().find(self);
  if (own != book.members().end()) add(*own);
  for (const auto& member : book.members()) {
    if (documents.size() >= View::kMaxHosts) break;
    add(member);
  }
  return documents;
}

std::vector<Write> member_writes(const MemberDocuments& wanted, const View& seen,
                                 const std::string& self) {
  std::vector<Write> writes;
  for (const auto& [name, ignored] : seen.documents) {
    if (!inventory::member_of_document(name) || wanted.contains(name)) continue;
    writes.push_back({.key = name, .value = std::nullopt});
  }
  const auto differs = [&seen](const MemberDocuments::value_type& document) {
    const auto found = seen.documents.find(document.first);
    return found == seen.documents.end() || found->second != document.second;
  };
  const auto own = wanted.find(member_document(self));
  for (auto document = wanted.begin(); document != wanted.end(); ++document) {
    if (document == own || !differs(*document)) continue;
    writes.push_back({.key = document->first, .value = document->second});
  }
  if (own != wanted.end() && differs(*own)) {
    writes.push_back({.key = own->first, .value = own->second});
  }
  return writes;
}

}  // namespace paravane::cluster
