#include "metrics/family_set.h"

#include <prometheus/text_serializer.h>

#include <sstream>

namespace paravane::metrics {

prometheus::ClientMetric& FamilySet::add(const std::string& name, const std::string& help,
                                         prometheus::MetricType type, const MetricLabels& labels) {
  const auto [place, is_new] = places_.try_emplace(name, families_.size());
  if (is_new) {
    prometheus::MetricFamily& family = families_.emplace_back();
    family.name = name;
    family.help = help;
    family.type = type;
  }
  prometheus::ClientMetric& metric = families_[place->second].metric.emplace_back();
  for (const auto& [label, value] : labels) {
    auto& made = metric.label.emplace_back();
    made.name = label;
    made.value = value;
    // The library's first version in Debian does not write a line end as the format wants.
    for (char& c : made.value) c = c == '\n' ? ' ' : c;
  }
  return metric;
}

std::string FamilySet::print() const {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families_);
  return std::move(text).str();
}

}  // namespace paravane::metrics
