// LeftOutRows: the unusable rows of the store, and why each cannot be used. Operators see them
// under the names of the objects that they hold. The rows stay in the file until they are removed
// or written again.
//
// Owner thread only.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/left_out.h"

namespace paravane::store {

class LeftOutRows {
 public:
  // `row`: the kind of the row, as row sums have it: "vm", "document/vmknic".
  void add(const std::string& row, const std::string& name, std::string reason) {
    reasons_[{row, name}] = std::move(reason);
  }
  void erase(const std::string& row, const std::string& name) { reasons_.erase({row, name}); }
  void erase_all(const std::string& row);
  bool contains(const std::string& row, const std::string& name) const {
    return reasons_.contains({row, name});
  }

  std::vector<model::LeftOut> list() const;
  // nullopt: it is not left out.
  std::optional<model::LeftOut> find(std::string_view kind, const std::string& name) const;

  // "port group" of "port_group", and back.
  static std::string kind_of(const std::string& row);
  static std::string row_of(std::string_view kind);

 private:
  std::map<std::pair<std::string, std::string>, std::string> reasons_;
};

}  // namespace paravane::store
