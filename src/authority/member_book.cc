#include "authority/member_book.h"

#include <cassert>
#include <nlohmann/json.hpp>
#include <utility>

#include "json/json_reader.h"
#include "model/fingerprint.h"
#include "model/vm.h"

namespace paravane::authority {

using nlohmann::json;

namespace {

std::unexpected<Error> bad_book() {
  return fail(Errc::kInvalidArgument, "the list of members is damaged");
}

// Each is there or not; a member that is known has both of the first two.
bool is_good(const MemberKeys& keys) {
  const auto good = [](const std::string& key) {
    return key.empty() || model::is_fingerprint(key);
  };
  return good(keys.joined) && good(keys.present) && good(keys.next) &&
         keys.joined.empty() == keys.present.empty() &&
         (!keys.present.empty() || keys.next.empty());
}

}  // namespace

void MemberBook::admit(const std::string& host, const std::string& key) {
  members_[host] = {.joined = key, .present = key, .next = {}};
}

void MemberBook::admit_by_name(const std::string& host) {
  members_[host] = {};
}

bool MemberBook::is_member(const std::string& host, const std::string& key) const {
  const auto found = members_.find(host);
  if (found == members_.end() || key.empty()) return false;
  const MemberKeys& keys = found->second;
  return keys.present.empty() || key == keys.present || key == keys.next;
}

void MemberBook::renew(const std::string& host, const std::string& shown,
                       const std::string& fresh) {
  assert(is_member(host, shown));
  MemberKeys& keys = members_.at(host);
  if (keys.present.empty()) return;
  keys.present = shown;
  keys.next = fresh == shown ? std::string() : fresh;
}

bool MemberBook::note_use(const std::string& host, const std::string& key) {
  const auto found = members_.find(host);
  if (found == members_.end() || key.empty()) return false;
  MemberKeys& keys = found->second;
  if (keys.present.empty()) {
    keys = {.joined = key, .present = key, .next = {}};
    return true;
  }
  if (key != keys.next) return false;
  keys.present = std::exchange(keys.next, {});
  return true;
}

json MemberBook::print() const {
  json list = json::array();
  for (const auto& [host, keys] : members_) {
    json entry = {{"host", host}};
    if (!keys.joined.empty()) entry["joined"] = keys.joined;
    if (!keys.present.empty()) entry["present"] = keys.present;
    if (!keys.next.empty()) entry["next"] = keys.next;
    list.push_back(std::move(entry));
  }
  return list;
}

Result<MemberBook> MemberBook::parse(const json& value) {
  MemberBook book;
  if (!value.is_array()) return bad_book();
  for (const json& element : value) {
    if (!element.is_object()) return bad_book();
    JsonReader reader(element, "member");
    const std::string host = reader.need_text("host");
    MemberKeys keys{.joined = reader.text("joined").value_or(""),
                    .present = reader.text("present").value_or(""),
                    .next = reader.text("next").value_or("")};
    if (!reader.finish() || !model::check_name(host) || !is_good(keys)) return bad_book();
    book.members_[host] = std::move(keys);
  }
  return book;
}

Result<MemberBook> MemberBook::parse_names(const json& value) {
  MemberBook book;
  if (!value.is_array()) return bad_book();
  for (const json& element : value) {
    if (!element.is_string() || !model::check_name(element.get<std::string>())) return bad_book();
    book.admit_by_name(element.get<std::string>());
  }
  return book;
}

}  // namespace paravane::authority
