#include "ethernet/link_report.h"

#include <fmt/core.h>

#include <algorithm>

namespace paravane::ethernet {

void LinkReport::complain(const std::string& link, std::string text, bool foreign) {
  problems_.push_back({.link = link, .text = std::move(text), .foreign = foreign});
}

bool LinkReport::done(const std::string& link, const LinkAct& act, const Status& status) {
  if (status) {
    note(link, act.deed);
  } else {
    complain(link, fmt::format("cannot {}: {}", act.wish, status.error().message));
  }
  return status.has_value();
}

void LinkReport::note(const std::string& link, const char* deed) {
  const auto known = std::ranges::find(changes_, link, &LinkChange::link);
  if (known == changes_.end()) {
    changes_.push_back({.link = link, .text = deed});
  } else if (!new_.contains(link)) {
    known->text += fmt::format("; {}", deed);
  }
}

}  // namespace paravane::ethernet
