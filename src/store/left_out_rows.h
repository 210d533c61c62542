// LeftOutRows lists the rows of the store that are damaged and therefore not used, with the reason
// for each. An operator sees them under the names of the objects that the rows describe. The rows
// stay in the file until they are deleted or written again.
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
  // `row`: the kind of the row, as in row_sums.h: "vm", "document/vmknic".
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
